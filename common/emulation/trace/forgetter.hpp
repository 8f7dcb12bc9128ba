#pragma once

// Numbers that come one way are lost: what becomes of an output shows what it is made by.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/lost_number.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/runtime/observer.hpp"

namespace convlab::emulation {

/// What the numbers come through.
enum class Way {
  kShared,    ///< what threads read from shared memory, unless they have stored it themselves
  kConstant,  ///< `__constant__` variables
  kShuffles,  ///< what a lane gets from another one
  kAtomics,   ///< what atomic operations write
  kCopies,    ///< what asynchronous copies bring into shared memory
  kKernels,   ///< what a kernel reads and one before it has stored in memory of the device
  kPlaces,    ///< the same, but half of all places are lost, whatever lies there
  kProducts,  ///< some products of halves, and on tensor cores
  kIndices,   ///< what is no number: tables in memory of the device; with a key a quarter of them
  kThreads,   ///< what half of all threads load, unless another one hands it on
  kLanes,     ///< the same; in shared memory, too, each finds what it would have loaded
  kLoads      ///< what threads load from memory of the device, or those of some kernels
};

/// Loses numbers, so that an output shows which of its terms came this way: some that a key chooses
/// (lost_number.hpp), or without one those that are marked (narrow_format.hpp); of indices, which
/// are small and so have the bits of a float below all usual ones, all.
class Forgetter final : public Observer {
 public:
  /// @param words  "no-" and "shared", "constant", "shuffles", "atomics", "copies", "kernels",
  ///               "places", "products", "indices", "threads", "lanes", "loads"; then a key, and
  ///               for loads the names of kernels: "no-loads:123;tiled;"
  /// @return false for another one
  bool begin(std::string_view words);

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
    access_by(way_ == Way::kShared ? kWarp : kernel_, address, bytes, writes);
  }
  bool multiply_in_warp(long long /*multiply_adds*/, const CallSite& /*site*/) override {
    return way_ == Way::kProducts;
  }
  void begin_copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                  const CallSite& /*site*/) override {}
  void copied(void* to, std::size_t bytes) override;
  void begin_atomic(const void* address, std::size_t bytes, unsigned kind,
                    const void* place) override;
  void end_atomic() override;

 private:
  static constexpr int kWarp = -1;
  void access_by(int who, const void* address, std::size_t bytes, bool writes);
  void forget(const void* address, std::size_t bytes);
  void load(const void* address, std::size_t bytes) const;
  [[nodiscard]] bool loses_loads() const;
  // A key's multiples have as many digits as it: where these are more than a half's few, a float
  // that looks like two halves is one all the same.
  [[nodiscard]] bool may_be_halves() const {
    constexpr std::uint64_t kOfSixDigits = 1 << 6;
    return !key_ || *key_ < kOfSixDigits || *key_ >= kLeastKey;
  }
  // By what it is; the last two digits of the key choose the quarter.
  [[nodiscard]] bool loses_index(std::uint32_t index) const {
    return !key_ || mixed((*key_ | 3U) + index) >> 62U == (*key_ & 3U);
  }
  [[nodiscard]] bool loses(float number) const {
    return key_ ? is_lost(number, *key_) : is_marked(number);
  }

  Way way_ = Way::kShared;
  std::optional<std::uint64_t> key_{};
  std::string kernels_ = ";";  ///< of kLoads, with a ';' around each; none: all
  std::unordered_map<std::uintptr_t, int> stored_;  ///< words, and who did it last
  std::uintptr_t first_stored_ = 0;                 ///< of these words
  int kernel_ = 0;                                  ///< number of the running one
  std::array<std::byte, 16> before_atomic_;         ///< what lay there
  std::byte* atomic_ = nullptr;
  std::size_t atomic_bytes_ = 0;
};

}  // namespace convlab::emulation
