#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/emulation/runtime/context.hpp"

namespace convlab::emulation {

/// A stack with guard pages below it.
struct Fiber {
  Context context;  ///< where it continues when no thread of a block uses it
  Stack stack;
  std::byte* guard = nullptr;  ///< start of the guard pages; the stack lies above them
};

/// The stacks of one worker, made when first needed and kept.
class FiberPool {
 public:
  /// @param entry  what a fiber runs when it is first switched to; never returns
  explicit FiberPool(void (*entry)()) : entry_(entry) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// A fiber that is new or was parked. @throws std::bad_alloc when no stack can be mapped
  Fiber* take() {
    if (parked_.empty()) return grow();
    Fiber* fiber = parked_.back();
    parked_.pop_back();
    return fiber;
  }
  /// Takes back a fiber that waits in its entry function for more work.
  void park(Fiber* fiber) { parked_.push_back(fiber); }
  /// Abandons the work of all fibers: each starts at its entry function again.
  void reset();

  /// Size of a stack.
  [[nodiscard]] static std::size_t stack_bytes();
  /// The fiber in whose guard page `address` lies, or null.
  [[nodiscard]] const Fiber* overflown(const void* address) const;

 private:
  Fiber* grow();

  void (*entry_)();
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> parked_;
  std::vector<void*> chunks_;
};

}  // namespace convlab::emulation
