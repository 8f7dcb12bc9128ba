#include "common/emulation/runtime/scheduler.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <new>
#include <numeric>

#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/settings.hpp"

constinit thread_local uint3 threadIdx = {};
constinit thread_local uint3 blockIdx = {};
constinit thread_local dim3 blockDim;
constinit thread_local dim3 gridDim;

namespace convlab::emulation {

// ---- stacks -------------------------------------------------------------------------------------

namespace {

// AddressSanitizer's frames are several times larger.
constexpr std::size_t kStackBytes = std::size_t{CONVLAB_ADDRESS_SANITIZER ? 512 : 128} * 1024;
constexpr std::size_t kStackGuardBytes =
    4 * kPage;  // enough that a frame with a large array does not step over it
constexpr std::size_t kStride = kStackBytes + kStackGuardBytes;
constexpr std::size_t kFibersPerPiece = 32;
// Each guard takes two memory mappings; Linux allows a process 65 530 by default. Only cooperative
// launches have more stacks: there an overflow of a stack goes unnoticed.
constexpr std::size_t kGuardedStacks = 28'000;
constexpr std::size_t kMostPrepared = 256;
// If the tops of all stacks had the same offset in a page, they would share a few cache sets. A
// prime number of offsets ("colours") never repeats in step with the distance between stacks.
constexpr std::size_t kColours = 61;
constexpr std::size_t kColourBytes = 64;

// Pieces that nobody has taken yet. Without a lock, which a fork could copy while it is held.
std::array<std::atomic<std::byte*>, kMostPrepared> prepared{};
std::atomic<std::size_t> made{0};
std::atomic<std::size_t> taken{0};

/// Guards all stacks of a piece in one call, without a mapping for each. @return false before Linux
/// 6.14
bool guard_at_once(std::byte* piece) {
  constexpr int kThisProcess = -10'000;  // PIDFD_SELF
  constexpr int kGuard = 102;            // MADV_GUARD_INSTALL
  std::array<iovec, kFibersPerPiece> guards;
  for (std::size_t i = 0; i < kFibersPerPiece; ++i) {
    guards[i] = {piece + i * kStride, kStackGuardBytes};
  }
  return syscall(SYS_process_madvise, kThisProcess, guards.data(), guards.size(), kGuard, 0) ==
         static_cast<long>(kFibersPerPiece * kStackGuardBytes);
}

/// Stacks, each above its guard pages.
std::byte* make_piece() {
  void* const pages = mmap(nullptr, kStride * kFibersPerPiece, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  auto* const piece = static_cast<std::byte*>(pages);
  if (guard_at_once(piece) || made.fetch_add(1) * kFibersPerPiece >= kGuardedStacks) return piece;
  for (std::size_t i = 0; i < kFibersPerPiece; ++i) {
    if (mprotect(piece + i * kStride, kStackGuardBytes, PROT_NONE) != 0) throw std::bad_alloc();
  }
  return piece;
}

std::byte* take_piece() {
  taken.fetch_add(1);
  for (auto& each : prepared) {
    if (std::byte* const piece = each.exchange(nullptr)) return piece;
  }
  return make_piece();
}

}  // namespace

std::size_t FiberPool::stack_bytes() {
  return kStackBytes;
}

std::size_t FiberPool::pieces() {
  return taken.load();
}

void FiberPool::prepare(std::size_t pieces) {
  for (std::size_t i = 0; i < std::min(pieces, kMostPrepared); ++i) {
    if (prepared[i].load() == nullptr) prepared[i].store(make_piece());
  }
}

FiberPool::~FiberPool() {
  for (std::byte* piece : pieces_) munmap(piece, kStride * kFibersPerPiece);
}

Fiber* FiberPool::grow() {
  std::byte* const piece = take_piece();
  pieces_.push_back(piece);
  for (std::size_t i = 0; i < kFibersPerPiece; ++i) {
    auto fiber = std::make_unique<Fiber>();
    fiber->guard = piece + i * kStride;
    fiber->stack.low = fiber->guard + kStackGuardBytes;
    fiber->stack.size = kStackBytes - (fibers_.size() % kColours) * kColourBytes;
    fiber->context = make_context(fiber->stack, entry_);
    fibers_.push_back(std::move(fiber));
  }
  for (std::size_t i = 0; i < kFibersPerPiece; ++i)
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

// ---- turns --------------------------------------------------------------------------------------

Scheduler::Scheduler(void (*carrier)()) : fibers_(carrier) {
  main_.stack = &main_stack_;
}

void Scheduler::bind_to_thread() {
  const Stack& own = thread_stack();
  if (main_stack_.low == own.low) return;
  main_stack_ = own;
  fibers_.reset();
}

void Scheduler::begin_grid(const dim3& block) {
  const std::uint32_t count = block.x * block.y * block.z;
  threads_.assign(count, EmulatedThread{});
  std::uint32_t rank = 0;
  for (unsigned z = 0; z < block.z; ++z)
    for (unsigned y = 0; y < block.y; ++y)
      for (unsigned x = 0; x < block.x; ++x, ++rank) {
        threads_[rank].index = {x, y, z};
        threads_[rank].rank = static_cast<std::uint16_t>(rank);
      }
  waits_.resize(count);
  ready_stack_.resize(count);
  std::iota(lane_order_.begin(), lane_order_.end(), 0U);
  order_.clear();
  for (EmulatedThread& thread : threads_) order_.push_back(&thread);
  if (settings().reverses) {
    std::ranges::reverse(order_);
    std::ranges::reverse(lane_order_);
  }
  order_.push_back(nullptr);
}

void Scheduler::begin_block() {
  for (EmulatedThread& thread : threads_) thread.state = EmulatedThread::State::kFresh;
  live_ = static_cast<std::uint32_t>(threads_.size());
  next_fresh_ = 0;
  thread_ = nullptr;
  ready_ = nullptr;
  ready_later_ = ready_stack_.data();
  survivors_.clear();
  sleepers_.clear();
  released_ = &order_.back();
}

void Scheduler::release_all() {
  // Exited threads are taken out once per barrier, not looked at by every thread that goes on.
  if (survivors_.size() != live_ + 1) {
    survivors_.clear();
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(survivors_),
                 [](const EmulatedThread* thread) {
                   return thread == nullptr || thread->state != EmulatedThread::State::kExited;
                 });
  }
  released_ = survivors_.data();
}

void Scheduler::sleep(const char* name, const void* reason, CallSite site) {
  wait_of(*thread_) = {name, site};
  thread_->state = EmulatedThread::State::kAsleep;
  sleepers_.push_back({reason, thread_});
  wait();
}

void Scheduler::wake(const void* reason) {
  // The last one pushed goes on first: that must be the first one who fell asleep.
  for (std::size_t i = sleepers_.size(); i-- > 0;)
    if (sleepers_[i].reason == reason) push_ready(*sleepers_[i].thread);
  std::erase_if(sleepers_, [&](const Sleeper& sleeper) { return sleeper.reason == reason; });
}

bool Scheduler::is_asleep(const void* reason) const {
  return std::ranges::find(sleepers_, reason, &Sleeper::reason) != sleepers_.end();
}

/// Nobody may go on: the next carrier begins another thread.
[[gnu::noinline]] void Scheduler::carry_on() {
  EmulatedThread* const self = thread_;
  first_entered_ = fibers_.take();
  switch_context(self->context, first_entered_->context);
}

void Scheduler::enter_block() {
  first_entered_ = fibers_.take();
  switch_context(main_, first_entered_->context);
}

Fiber& Scheduler::enter_carrier() {
  Fiber& self = *first_entered_;
  finish_first_switch(self.stack);
  return self;
}

void Scheduler::leave_block(Fiber& carrier) {
  fibers_.park(&carrier);
  switch_context(carrier.context, main_);
}

}  // namespace convlab::emulation
