#pragma once

// Bytes that one process leaves for another, which has the same program at the same addresses.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

/// Writes values into a piece of memory, or reads them from there: the same calls do either.
class Parcel {
 public:
  enum class Mode { kWrites, kReads };

  Parcel(Mode mode, std::byte* begin, std::size_t bytes)
      : begin_(begin), at_(begin), end_(begin + bytes), reads_(mode == Mode::kReads) {}

  [[nodiscard]] bool reads() const { return reads_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(at_ - begin_); }

  /// @throws std::length_error  if the memory ends before the values do
  template <typename... T>
  void pass(T&... values) {
    (pass_one(values), ...);
  }

 private:
  void pass_bytes(void* value, std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(end_ - at_)) throw std::length_error("a parcel");
    if (bytes > 0) std::memcpy(reads_ ? value : at_, reads_ ? at_ : value, bytes);
    at_ += bytes;
  }

  std::size_t pass_count(std::size_t count) {
    pass_bytes(&count, sizeof count);
    return count;
  }

  template <typename T>
  void pass_one(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      pass_bytes(&value, sizeof value);
    else
      pass_members(value);
  }

  void pass_members(std::string& text) {
    const std::size_t count = pass_count(text.size());
    if (count > static_cast<std::size_t>(end_ - at_)) throw std::length_error("a parcel");
    text.resize(count);
    pass_bytes(text.data(), count);
  }
  template <typename T>
  void pass_members(std::vector<T>& list) {
    const std::size_t count = pass_count(list.size());
    if (count > static_cast<std::size_t>(end_ - at_)) throw std::length_error("a parcel");
    list.resize(count);
    for (T& each : list) pass_one(each);
  }
  template <typename Key, typename T>
  void pass_members(std::map<Key, T>& map) {
    std::size_t count = pass_count(map.size());
    if (!reads_) {
      for (auto& [key, value] : map) {
        Key same = key;
        pass(same, value);
      }
      return;
    }
    for (map.clear(); count > 0; --count) {
      Key key;
      pass(key);
      pass(map[key]);
    }
  }
  template <typename A, typename B>
  void pass_members(std::pair<A, B>& both) {
    pass(both.first, both.second);
  }
  template <typename... T>
  void pass_members(std::tuple<T...>& all) {
    std::apply([&](T&... each) { pass(each...); }, all);
  }
  template <typename T>
  void pass_members(std::optional<T>& value) {
    if (pass_count(value ? 1 : 0) == 0) return value.reset();
    if (!value) value.emplace();
    pass(*value);
  }

  void pass_members(FaultMemory& it) {
    pass(it.variable, it.argument, it.freed, it.bytes, it.offset, it.row_bytes, it.allocated_at);
  }
  void pass_members(ReportMemory& it) {
    pass_members(static_cast<FaultMemory&>(it));
    pass(it.name, it.kernel, it.allocation);
  }
  void pass_members(ReportPlace& it) { pass(it.file, it.line, it.column, it.function); }
  void pass_members(FaultWait& it) { pass(it.threads, it.call, it.line); }
  /// What a kernel's failure has of it.
  void pass_members(FaultRecord& it) {
    pass(it.kind, it.text, it.kernel, it.block, it.thread, it.has_thread, it.writes, it.memory,
         it.grid, it.block_size, it.waiting);
  }
  void pass_members(EmulationReport& it) {
    pass(it.fault, it.error, it.is_note, it.what, it.has_block, it.frames, it.at, it.launched_at,
         it.memory, it.more, it.text);
  }
  void pass_members(AccessNote& it) {
    pass(it.kernel, it.file, it.line, it.space, it.memory, it.writes, it.atomic, it.bytes,
         it.requests, it.lanes, it.parts, it.conflicts, it.threads);
  }
  void pass_members(BarrierNote& it) {
    pass(it.kernel, it.file, it.line, it.times, it.variable, it.before, it.before_writes, it.behind,
         it.behind_writes, it.elements);
  }
  /// Of a type that lists its own.
  template <typename T>
  requires requires(T& it, Parcel& parcel) { it.pass(parcel); }
  void pass_members(T& it) { it.pass(*this); }
  void pass_members(ProductNote& it) {
    pass(it.kernel, it.file, it.line, it.kind, it.multiply_adds, it.warp_operations);
  }
  void pass_members(AccessNotes& it) {
    pass(it.accesses, it.barriers, it.products, it.left_out, it.shuffles, it.async_bytes,
         it.most_products, it.product_threads);
  }

  std::byte* begin_;
  std::byte* at_;
  std::byte* end_;
  bool reads_;
};

}  // namespace convlab::emulation
