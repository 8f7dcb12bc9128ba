#pragma once

// Counts what the warps of a kernel ask of each kind of memory, and what each barrier is for.
//
// Idea     Each lane leaves a list of where it came and what it touched; lane_pairing.hpp says
//          which of them made a request together. The lists begin anew where all lanes meet.
// Joined   Loads of neighbouring words of shared memory in one block of the program, or in turns of
//          a loop that follow each other, as a compiler for a GPU joins them. In global memory it
//          does so only if the type of the pointer promises that they are aligned, which nobody
//          sees here.
// Products Of floats those in the machine code of each block of the program (requests.cpp); of
//          halves those that cuda_fp16.h marks; on tensor cores those that it is told of.
// Barrier  Each word of shared memory remembers who touched it last and how many barriers that
//          thread had passed. If another thread touches it exactly one barrier later, and one of
//          the two writes, that barrier keeps them apart. A fragment counts as an access of its
//          warp's first lane.
// Fragment Which lane loads which element is left open. Counted is what ldmatrix would ask for:
//          eight rows of 16 bytes at a time.
// Use      CONVLAB_EMU_TRACE=counts, in a file compiled for it
// Source   CUDA C++ Programming Guide, "Device Memory Accesses": sectors of 32 bytes, 32 banks of 4
//          bytes, one word of constant memory for a warp at a time.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/device_notes.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

// ---- what the memory does with one request of a warp (requests.cpp) -----------------------------

/// The lanes of a warp that make one access together.
struct Request {
  std::uint32_t mask = 0;
  std::array<std::uintptr_t, kWarpSize> address{};
};

/// The parts that the memory answers one after the other (AccessNote::parts), and of these the
/// conflicts.
struct Parts {
  int all = 0;
  int conflicts = 0;
};

/// As notes have it.
const char* name_of(Space space);

/// @param bytes  of each lane's access
Parts parts_of(const Request& request, Space space, std::size_t bytes, bool atomic);

// ---- products (requests.cpp) --------------------------------------------------------------------

struct FloatProducts {
  int count = 0;
  const void* first = nullptr;  ///< the instruction
};
/// In the machine code behind this return address up to where the next block of the
/// program begins: there, too, the compiler calls what it has just called.
FloatProducts float_products_behind(const void* caller);

// ---- counting -----------------------------------------------------------------------------------

class AccessCounter final : public AccessObserver {
 public:
  /// The running thread multiplies so many numbers in one instruction.
  /// @param kind  as ProductNote has it
  static void multiply(const char* kind, int numbers, const void* caller, const void* frame);
  /// The running thread has come to a block of the program.
  static void come_to_block(const void* caller, const void* frame);

  void begin_block() override;
  void end_block() override;
  void met_in_block(const char* call, const CallSite& site) override;
  void met_in_warp(unsigned first_rank, const WarpOperation& operation, std::uint32_t lanes,
                   const CallSite& site) override;
  void access_by_warp(const void* address, std::size_t bytes, std::size_t part, bool writes,
                      const CallSite& site) override;
  void multiply_in_warp(long long multiply_adds, const CallSite& site) override;

 private:
  bool move(const void* caller, const void* frame) override;
  void touch(const void* address, std::size_t bytes, StepKind kind, Place place) override;
};

/// Counts from now on.
void count_requests();

/// What was counted since the last call.
AccessNotes take_counts();

}  // namespace convlab::emulation
