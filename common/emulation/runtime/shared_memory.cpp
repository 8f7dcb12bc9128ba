#include "common/emulation/runtime/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/parcel.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {
namespace {

// Wide guards cost only addresses, and keep wild indices away from other mappings.
constexpr std::size_t kGuardBytes = std::size_t{64} << 20U;
constexpr std::size_t kStaticBytes = std::size_t{256} << 20U;
constexpr std::size_t kDynamicBytes = std::size_t{256} << 10U;
constexpr std::size_t kRegionBytes = 3 * kGuardBytes + kStaticBytes + kDynamicBytes;
// Between two variables: a row too many must not be one of the next variable.
constexpr std::size_t kGap = std::size_t{64} << 10U;
// How much of a redzone before a variable is looked at after each block.
constexpr std::size_t kLookedAt = 256;
// Vector accesses and casts of students need it, whatever the type of an array.
constexpr std::size_t kLeastAlignment = 16;
// Set before main begins.
std::size_t dynamic_alignment = kLeastAlignment;
constexpr Redzone kRedzone;
std::atomic<std::uint64_t> layouts = 0;

/// The page on which an array begins.
std::byte* page_of(std::byte* byte) {
  return byte - reinterpret_cast<std::uintptr_t>(byte) % kPage;
}

void set_access(std::byte* begin, std::byte* end, int protection) {
  if (begin != end && mprotect(begin, static_cast<std::size_t>(end - begin), protection) != 0)
    throw std::bad_alloc();
}

}  // namespace

bool align_dynamic_shared(std::size_t alignment) {
  dynamic_alignment = std::max(dynamic_alignment, alignment);
  return true;
}

constinit thread_local std::uint64_t current_block_number = 0;
constinit thread_local void* current_dynamic_shared = nullptr;
constinit thread_local std::uintptr_t current_shared_begin = 0;
constinit thread_local std::uintptr_t current_shared_end = 0;

SharedMemory::SharedMemory() {
  void* region =
      mmap(nullptr, kRegionBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  region_ = static_cast<std::byte*>(region);
  static_begin_ = region_ + kGuardBytes;
  dynamic_begin_ = dynamic_end();
  dynamic_open_ = dynamic_begin_;
  static_end_ = static_begin_;
  layout_ = ++layouts;
}

SharedMemory::~SharedMemory() {
  forget_static();
  allow_access(dynamic_open_, static_cast<std::size_t>(dynamic_end() - dynamic_open_));
  munmap(region_, kRegionBytes);
}

std::byte* SharedMemory::dynamic_end() const {
  return static_begin_ + kStaticBytes + kGuardBytes + kDynamicBytes;
}

void SharedMemory::open_dynamic(std::byte* begin) {
  std::byte* const page =
      dynamic_end() - round_up(static_cast<std::size_t>(dynamic_end() - begin), kPage);
  if (page > dynamic_open_)
    set_access(dynamic_open_, page, PROT_NONE);
  else
    set_access(page, dynamic_open_, PROT_READ | PROT_WRITE);
  dynamic_open_ = page;
}

/// Pages for a variable. @return its place
std::byte* SharedMemory::open_static(std::size_t bytes, std::size_t alignment) {
  const std::size_t pages = round_up(round_up(bytes, alignment), kPage);
  std::byte* const first = static_end_ + kGap;
  std::byte* const end = first + pages;
  if (end + kGap > static_begin_ + kStaticBytes) throw std::bad_alloc();
  set_access(first, end, PROT_READ | PROT_WRITE);
  static_end_ = end;
  std::byte* const begin = end - round_up(bytes, alignment);
  kRedzone.fill(first, begin);
  kRedzone.fill(begin + bytes, end);
  forbid_access(first, static_cast<std::size_t>(begin - first));
  forbid_access(begin + bytes, static_cast<std::size_t>(end - begin) - bytes);
  return begin;
}

/// Gives all pages of variables back.
void SharedMemory::forget_static() {
  const auto bytes = static_cast<std::size_t>(static_end_ - static_begin_);
  allow_access(static_begin_, bytes);
  static_cast<void>(mmap(static_begin_, bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  static_end_ = static_begin_;
  layout_ = ++layouts;
}

void SharedMemory::begin_grid(const KernelCall& call) {
  if (static_end_ > static_begin_ + kStaticBytes / 2) forget_static();
  limit_ = call.shared_limit;
  if (dynamic_bytes_ != call.dynamic_shared_bytes) {
    dynamic_bytes_ = call.dynamic_shared_bytes;
    dynamic_begin_ = dynamic_end() - round_up(dynamic_bytes_, dynamic_alignment);
    open_dynamic(dynamic_begin_);
    std::byte* const page = page_of(dynamic_begin_);
    std::byte* const end = dynamic_begin_ + dynamic_bytes_;
    allow_access(page, static_cast<std::size_t>(dynamic_end() - page));
    kRedzone.fill(page, dynamic_begin_);
    kRedzone.fill(end, dynamic_end());
    forbid_access(page, static_cast<std::size_t>(dynamic_begin_ - page));
    forbid_access(end, static_cast<std::size_t>(dynamic_end() - end));
  }
  current_dynamic_shared = dynamic_begin_;
  current_shared_begin = reinterpret_cast<std::uintptr_t>(region_);
  current_shared_end = current_shared_begin + kRegionBytes;
}

void SharedMemory::begin_block() {
  ++current_block_number;
  variables_.clear();
  static_bytes_ = 0;
  if (dynamic_bytes_ != 0) {
    fill_poison(dynamic_begin_, dynamic_bytes_, kPoisonObjects - 1, true);
    note_shared(kPoisonObjects - 1, {"dynamic", nullptr, 0, dynamic_begin_, dynamic_bytes_, 0});
  }
}

bool SharedMemory::place(SharedSlot& slot, std::size_t bytes, std::size_t alignment) {
  if (static_bytes_ + bytes + dynamic_bytes_ > limit_) return false;
  if (slot.layout != layout_) {
    slot.address = open_static(bytes, std::max(alignment, kLeastAlignment));
    slot.layout = layout_;
  }
  auto* const begin = static_cast<std::byte*>(slot.address);
  fill_poison(begin, bytes, static_cast<unsigned>(variables_.size()), true);
  static_bytes_ += bytes;
  variables_.push_back({slot.name, slot.file, slot.line, begin, bytes, slot.row_bytes});
  note_shared(static_cast<unsigned>(variables_.size() - 1), variables_.back());
  slot.block = current_block_number;
  return true;
}

std::optional<ReportMemory> SharedMemory::damage() const {
#if !CONVLAB_ADDRESS_SANITIZER
  const auto hit = [](std::byte* begin, std::size_t bytes) -> const std::byte* {
    std::byte* const end = begin + bytes;
    std::byte* const page = std::max(page_of(begin), begin - kLookedAt);
    std::byte* const rest = end + (kPage - reinterpret_cast<std::uintptr_t>(end) % kPage) % kPage;
    const std::byte* found = kRedzone.first_other(page, begin);
    if (found == nullptr) found = kRedzone.first_other(end, rest);
    if (found != nullptr) {
      kRedzone.fill(page, begin);
      kRedzone.fill(end, rest);
    }
    return found;
  };
  for (const Variable& variable : variables_)
    if (const auto* byte = hit(variable.address, variable.bytes)) return find(byte);
  if (dynamic_bytes_ != 0)
    if (const auto* byte = hit(dynamic_begin_, dynamic_bytes_)) return find(byte);
#endif
  return std::nullopt;
}

namespace {

/// The variables of the latest kernels, by their number.
struct PoisonedVariables {
  std::mutex mutex;
  std::array<ReportMemory, kPoisonObjects> variables;
};

}  // namespace

void SharedMemory::note_shared(unsigned number, const Variable& variable) {
  if (!settings().numbered_poison) return;
  PoisonedVariables& known = only<PoisonedVariables>();
  const std::lock_guard lock(known.mutex);
  ReportMemory& memory = known.variables[number % kPoisonObjects];
  memory = {};
  memory.bytes = static_cast<std::int64_t>(variable.bytes);
  memory.variable = variable.name;
  memory.row_bytes = static_cast<std::int64_t>(variable.row_bytes);
}

void pass_poisoned_variables(Parcel& parcel) {
  if (!settings().numbered_poison) return;
  for (ReportMemory& variable : only<PoisonedVariables>().variables) parcel.pass(variable);
}

std::optional<ReportMemory> poisoned_variable(unsigned object, std::int64_t offset) {
  PoisonedVariables& known = only<PoisonedVariables>();
  const std::lock_guard lock(known.mutex);
  ReportMemory memory = known.variables[object];
  if (offset >= memory.bytes) return std::nullopt;
  memory.offset = offset;
  return memory;
}

bool SharedMemory::is_unwritten(const std::byte* at, std::size_t bytes) const {
  const auto holds = [&](const std::byte* begin, std::size_t size, std::size_t object) {
    return at >= begin && at + bytes <= begin + size &&
           is_untouched(begin, static_cast<std::size_t>(at - begin), bytes,
                        static_cast<unsigned>(object), true);
  };
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (holds(variables_[i].address, variables_[i].bytes, i)) return true;
  return holds(dynamic_begin_, dynamic_bytes_, kPoisonObjects - 1);
}

std::optional<ReportMemory> SharedMemory::find(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  if (byte < region_ || byte >= region_ + kRegionBytes) return std::nullopt;
  const auto distance = [byte](const Variable& each) {
    return byte < each.address ? each.address - byte : byte - each.address;
  };
  const Variable* nearest = nullptr;
  for (const Variable& variable : variables_)
    if (nearest == nullptr || distance(variable) < distance(*nearest)) nearest = &variable;
  if (nearest == nullptr || byte >= static_begin_ + kStaticBytes + kGuardBytes / 2) {
    const auto bytes = static_cast<std::int64_t>(dynamic_bytes_);
    return ReportMemory{{.variable = "dynamic", .bytes = bytes, .offset = byte - dynamic_begin_},
                        "the block's " + std::to_string(bytes) + " bytes of dynamic shared memory"};
  }
  const auto bytes = static_cast<std::int64_t>(nearest->bytes);
  return ReportMemory{{.variable = nearest->name,
                       .bytes = bytes,
                       .offset = byte - nearest->address,
                       .row_bytes = static_cast<std::int64_t>(nearest->row_bytes)},
                      "the shared variable " + std::string(nearest->name) + " of " +
                          std::to_string(bytes) + " bytes (" + nearest->file + ":" +
                          std::to_string(nearest->line) + ")"};
}

}  // namespace convlab::emulation
