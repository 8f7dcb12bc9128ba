#pragma once

// Numbers that come one way are lost: what becomes of an output shows what it is made by.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "common/emulation/runtime/observer.hpp"

namespace convlab::emulation {

/// What the numbers come through.
enum class Way {
  kShared,    ///< what kernels read from shared memory
  kConstant,  ///< `__constant__` variables
  kShuffles,  ///< what a lane gets from another one
  kAtomics,   ///< what atomic operations write
  kCopies,    ///< what asynchronous copies bring into shared memory
  kKernels,   ///< what a kernel reads and one before it has stored in memory of the device
  kIndices    ///< what is no number: tables in memory of the device
};

/// Leaves what is no number of a convolution: counters, indices and flags are small, so their bits
/// are those of a float or a half below all usual ones. It leaves a number that is the same as the
/// one before, too: factors of one make no output.
class Forgetter final : public Observer {
 public:
  /// @param name  "shared", "constant", "shuffles", "atomics", "copies", "kernels", "indices"
  /// @return false for another one
  bool begin(std::string_view name);

  /// An access of the running thread to memory; before it.
  void access(const void* address, std::size_t bytes, bool writes);

  void begin_grid(const KernelCall& call) override;
  void begin_block() override {}
  void end_block() override {}
  void met_in_block(const char* /*call*/, const CallSite& /*site*/) override {}
  void met_in_warp(unsigned /*first_rank*/, const WarpOperation& /*operation*/,
                   std::uint32_t /*lanes*/, const CallSite& /*site*/) override {}
  void exchanged(void* result, std::size_t bytes) override;
  /// Fragments are loaded elsewhere than in the traced file.
  void access_by_warp(const void* address, std::size_t bytes, std::size_t /*part*/, bool writes,
                      const CallSite& /*site*/) override {
    access(address, bytes, writes);
  }
  void begin_copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                  const CallSite& /*site*/) override {}
  void copied(void* to, std::size_t bytes) override;
  void begin_atomic(const void* address, std::size_t bytes, unsigned kind,
                    const void* place) override;
  void end_atomic() override;

 private:
  void forget(const void* address, std::size_t bytes);

  Way way_ = Way::kShared;
  std::uint32_t last_ = 0;                          ///< number that came this way
  std::unordered_map<std::uintptr_t, int> stored_;  ///< words, and the kernel that did it last
  int kernel_ = 0;                                  ///< number of the running one
  std::array<std::byte, 16> before_atomic_;         ///< what lay there
  std::byte* atomic_ = nullptr;
  std::size_t atomic_bytes_ = 0;
};

}  // namespace convlab::emulation
