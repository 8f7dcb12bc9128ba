#pragma once

#include <cstddef>
#include <cstdint>

#include "common/emulation/include/convlab_emulation/call_site.hpp"

namespace convlab::emulation {

struct KernelCall;
class Parcel;
struct WarpOperation;

/// Wants to know what the threads of kernels do: common/emulation/trace, in a program that was
/// compiled for it.
class Observer {
 public:
  /// Whether kernels may run in a process of their own (kernel_process.hpp), which leaves behind
  /// what pass_notes() passes.
  [[nodiscard]] virtual bool runs_apart() const { return false; }
  virtual void pass_notes(Parcel& /*parcel*/) {}

  /// From the thread of the host that launches; the others from the worker that runs the block.
  virtual void begin_grid(const KernelCall& /*call*/) {}
  /// A copy or a fill in a stream reads and writes these bytes; either may be none.
  virtual void begin_transfer(const char* /*function*/, const void* /*from*/, std::size_t /*read*/,
                              const void* /*to*/, std::size_t /*written*/) {}
  /// One worker at a time runs a block while somebody observes.
  virtual void begin_block() = 0;
  virtual void end_block() = 0;
  /// The running thread begins: its variables will lie below this address.
  virtual void begin_thread(const void* /*stack*/) {}
  /// The block goes on that the calling worker runs; others have run since.
  virtual void resume_block() {}
  /// All live threads of the block have met.
  virtual void met_in_block(const char* call, const CallSite& site) = 0;
  /// These lanes of the warp with this first thread have met.
  virtual void met_in_warp(unsigned first_rank, const WarpOperation& operation, std::uint32_t lanes,
                           const CallSite& site) = 0;

  /// A lane has got a value of another one.
  virtual void exchanged(void* /*result*/, std::size_t /*bytes*/) {}
  /// The threads of these warps of the block, one for each bit, have met in a numbered barrier.
  virtual void met_in_part(std::uint32_t /*warps*/) {}

  // What the running thread does: more of it at the functions that tell it (collective.hpp).
  /// @param part  bytes of it that belong to one request, with as many of seven other rows
  virtual void access_by_warp(const void* address, std::size_t bytes, std::size_t part, bool writes,
                              const CallSite& site) = 0;
  /// Its warp makes so many multiply-adds on tensor cores.
  /// @return whether some of them are lost (narrow_format.hpp)
  virtual bool multiply_in_warp(long long /*multiply_adds*/, const CallSite& /*site*/) {
    return false;
  }
  virtual void begin_copy(void* to, const void* from, std::size_t bytes, const CallSite& site) = 0;
  virtual void end_copy(void* /*to*/, std::size_t /*bytes*/, const CallSite& /*site*/) {}
  /// These bytes of an asynchronous copy are there.
  virtual void copied(void* /*to*/, std::size_t /*bytes*/) {}
  /// @param place  the return address of the caller
  virtual void begin_atomic(const void* address, std::size_t bytes, unsigned kind,
                            const void* place) = 0;
  virtual void end_atomic() = 0;
  virtual void verify(const void* /*address*/) {}
  virtual void fence(bool /*in_block*/) {}
  virtual void release(const void* /*object*/) {}
  virtual void acquire(const void* /*object*/) {}
  virtual void begin_object(const void* /*object*/, std::size_t /*bytes*/) {}

 protected:
  ~Observer() = default;
};

/// Null if nobody observes.
extern Observer* observer;

/// The thread's warp makes so many multiply-adds on tensor cores. No kernel may call it: points
/// depend on it.
/// @return whether some of them are lost
bool observe_products(long long multiply_adds, const CallSite& site);

/// The threads of these warps of the running block, one for each bit, have met.
void observe_part(std::uint32_t warps);

}  // namespace convlab::emulation
