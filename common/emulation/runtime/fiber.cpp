#include "common/emulation/runtime/fiber.hpp"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/pages.hpp"

namespace convlab::emulation {
namespace {

// AddressSanitizer's frames are several times larger.
constexpr std::size_t kStackBytes = std::size_t{CONVLAB_ADDRESS_SANITIZER ? 512 : 128} * 1024;
constexpr std::size_t kStackGuardBytes =
    4 * kPage;  // enough that a frame with a large array does not step over it
constexpr std::size_t kStride = kStackBytes + kStackGuardBytes;
constexpr std::size_t kFibersPerChunk = 32;
// Each guard takes two memory mappings; Linux allows a process 65 530 by default. Only cooperative
// launches have more stacks: there an overflow of a stack goes unnoticed.
constexpr std::size_t kGuardedStacks = 28'000;
// If the tops of all stacks had the same offset in a page, they would share a few cache sets. A
// prime number of offsets ("colours") never repeats in step with the distance between stacks.
constexpr std::size_t kColours = 61;
constexpr std::size_t kColourBytes = 64;

}  // namespace

std::size_t FiberPool::stack_bytes() {
  return kStackBytes;
}

FiberPool::~FiberPool() {
  for (void* chunk : chunks_) {
    only<WorkerMemory>().remove(chunk);
    munmap(chunk, kStride * kFibersPerChunk);
  }
}

Fiber* FiberPool::grow() {
  void* chunk = mmap(nullptr, kStride * kFibersPerChunk, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (chunk == MAP_FAILED) throw std::bad_alloc();
  chunks_.push_back(chunk);
  only<WorkerMemory>().add(chunk, kStride * kFibersPerChunk);
  static std::atomic<std::size_t> stacks{0};
  const bool guarded = stacks.fetch_add(kFibersPerChunk) < kGuardedStacks;
  for (std::size_t i = 0; i < kFibersPerChunk; ++i) {
    auto fiber = std::make_unique<Fiber>();
    fiber->guard = static_cast<std::byte*>(chunk) + i * kStride;
    if (guarded && mprotect(fiber->guard, kStackGuardBytes, PROT_NONE) != 0) throw std::bad_alloc();
    fiber->stack.low = fiber->guard + kStackGuardBytes;
    fiber->stack.size = kStackBytes - (fibers_.size() % kColours) * kColourBytes;
    fiber->context = make_context(fiber->stack, entry_);
    fibers_.push_back(std::move(fiber));
  }
  for (std::size_t i = 0; i < kFibersPerChunk; ++i)
    parked_.push_back(fibers_[fibers_.size() - 1 - i].get());
  return take();
}

void FiberPool::reset() {
  parked_.clear();
  for (const auto& fiber : fibers_) {
    fiber->context = make_context(fiber->stack, entry_);
    parked_.push_back(fiber.get());
  }
}

const Fiber* FiberPool::overflown(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  for (const auto& fiber : fibers_)
    if (byte >= fiber->guard && byte < fiber->stack.low) return fiber.get();
  return nullptr;
}

}  // namespace convlab::emulation
