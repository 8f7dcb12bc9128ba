#include "common/emulation/runtime/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
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
constexpr std::size_t kStaticBytes = std::size_t{1} << 20U;
constexpr std::size_t kDynamicBytes = std::size_t{256} << 10U;
constexpr std::size_t kRegionBytes = 3 * kGuardBytes + kStaticBytes + kDynamicBytes;
constexpr std::size_t kRedzoneBytes = 32;

void set_access(std::byte* begin, std::byte* end, int protection) {
  if (begin != end && mprotect(begin, static_cast<std::size_t>(end - begin), protection) != 0)
    throw std::bad_alloc();
}

}  // namespace

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
  static_end_ = static_begin_;
  static_open_ = static_begin_;
  dynamic_begin_ = dynamic_end();
  dynamic_open_ = dynamic_begin_;
}

SharedMemory::~SharedMemory() {
  allow_access(region_, kRegionBytes);
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

void SharedMemory::open_static(std::byte* end) {
  if (end <= static_open_) return;
  std::byte* const page =
      static_begin_ + round_up(static_cast<std::size_t>(end - static_begin_), kPage);
  set_access(static_open_, page, PROT_READ | PROT_WRITE);
  static_open_ = page;
}

void SharedMemory::begin_grid(const KernelCall& call) {
  // Grids of one kernel have the same variables: leave the pages open, to save system calls.
  if (kernel_ != call.run_thread) {
    set_access(static_begin_, static_open_, PROT_NONE);
    static_open_ = static_begin_;
    static_end_ = static_begin_;
  }
  kernel_ = call.run_thread;
  dynamic_bytes_ = call.dynamic_shared_bytes;
  limit_ = call.shared_limit;
  dynamic_begin_ = dynamic_end() - (dynamic_bytes_ + 15) / 16 * 16;
  open_dynamic(dynamic_begin_);
  forbid_access(dynamic_end() - kDynamicBytes, kDynamicBytes);
  allow_access(dynamic_begin_, dynamic_bytes_);
  current_dynamic_shared = dynamic_begin_;
  current_shared_begin = reinterpret_cast<std::uintptr_t>(region_);
  current_shared_end = current_shared_begin + kRegionBytes;
}

void SharedMemory::begin_block() {
  ++current_block_number;
  variables_.clear();
  static_bytes_ = 0;
  static_end_ = static_begin_;
  if (dynamic_bytes_ != 0) {
    const std::size_t padding = (16 - dynamic_bytes_ % 16) % 16;
    allow_access(dynamic_begin_, dynamic_bytes_ + padding);
    fill_poison(dynamic_begin_, dynamic_bytes_, kPoisonObjects - 1, true);
    note_shared(kPoisonObjects - 1, {"dynamic", nullptr, 0, dynamic_begin_, dynamic_bytes_, 0});
    std::memset(dynamic_begin_ + dynamic_bytes_, kRedzoneByte, padding);
    forbid_access(dynamic_begin_ + dynamic_bytes_, padding);
  }
}

void SharedMemory::add_redzone(std::byte* end) {
  open_static(end);
  allow_access(static_end_, static_cast<std::size_t>(end - static_end_));
  std::memset(static_end_, kRedzoneByte, static_cast<std::size_t>(end - static_end_));
  forbid_access(static_end_, static_cast<std::size_t>(end - static_end_));
  static_end_ = end;
}

bool SharedMemory::place(SharedSlot& slot, std::size_t bytes, std::size_t alignment) {
  if (static_bytes_ + bytes + dynamic_bytes_ > limit_) return false;
  // Vector accesses and reinterpret_casts of students need an alignment of 16 bytes; a redzone has
  // 32.
  alignment = std::max<std::size_t>(alignment, 32);
  if (variables_.empty()) add_redzone(static_end_ + kRedzoneBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(static_end_);
  const std::size_t shift = (alignment - address % alignment) % alignment;
  add_redzone(static_end_ + shift);
  std::byte* const begin = static_end_;
  open_static(begin + bytes);
  allow_access(begin, bytes);
  fill_poison(begin, bytes, static_cast<unsigned>(variables_.size()), true);
  static_end_ = begin + bytes;
  add_redzone(static_end_ + kRedzoneBytes);
  static_bytes_ += bytes;
  variables_.push_back({slot.name, slot.file, slot.line, begin, bytes, slot.row_bytes});
  note_shared(static_cast<unsigned>(variables_.size() - 1), variables_.back());
  slot.address = begin;
  slot.block = current_block_number;
  return true;
}

std::optional<ReportMemory> SharedMemory::damage() const {
#if !CONVLAB_ADDRESS_SANITIZER
  const auto hit = [](const std::byte* begin, const std::byte* end) {
    return first_other(kRedzone, begin, end);
  };
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    const std::byte* const next =
        i + 1 < variables_.size() ? variables_[i + 1].address : static_end_;
    if (const auto* byte = hit(i == 0 ? static_begin_ : variable.address, variable.address))
      return find(byte);
    if (const auto* byte = hit(variable.address + variable.bytes, next)) return find(byte);
  }
  const std::byte* const end = dynamic_begin_ + dynamic_bytes_;
  if (const auto* byte = hit(end, end + (16 - dynamic_bytes_ % 16) % 16)) return find(byte);
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

std::optional<ReportMemory> SharedMemory::find(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  if (byte < region_ || byte >= region_ + kRegionBytes) return std::nullopt;
  const Variable* nearest = nullptr;
  for (const Variable& variable : variables_)
    if (variable.address <= byte || nearest == nullptr) nearest = &variable;
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
