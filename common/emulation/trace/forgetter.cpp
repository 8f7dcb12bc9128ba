#include "common/emulation/trace/forgetter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/variable_pages.hpp"

namespace convlab::emulation {
namespace {

template <typename Word>
Word word_at(const std::byte* place) {
  Word word;
  std::memcpy(&word, place, sizeof word);
  return word;
}

// Calls number(place, word) for the floats among these bytes; for a half if there are two bytes.
// @param are_numbers  false: for all others
template <typename Number>
void for_each_number(std::byte* begin, std::size_t bytes, const Number& number,
                     bool are_numbers = true) {
  const auto look = [&]<typename Word>(Word exponent) {
    for (std::byte* at = begin; at + sizeof(Word) <= begin + bytes; at += sizeof(Word)) {
      const auto word = word_at<Word>(at);
      const bool is_number = (word & exponent) != 0 && (word & exponent) != exponent;
      if (is_number == are_numbers) number(at, word);
    }
  };
  bytes == sizeof(std::uint16_t) ? look(std::uint16_t{0x7c00}) : look(std::uint32_t{0x7f80'0000});
}

std::byte* bytes_at(const void* address) {
  return static_cast<std::byte*>(const_cast<void*>(address));
}

}  // namespace

bool Forgetter::begin(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "shared", "constant", "shuffles", "atomics", "copies", "kernels", "indices"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return false;
  way_ = static_cast<Way>(found - kNames.begin());
  return true;
}

void Forgetter::forget(const void* address, std::size_t bytes) {
  const auto lose = [&](std::byte* at, auto word) {
    if (std::exchange(last_, word) != word) std::memset(at, 0, sizeof word);
  };
  for_each_number(bytes_at(address), bytes, lose, way_ != Way::kIndices);
}

void Forgetter::access(const void* address, std::size_t bytes, bool writes) {
  if (way_ == Way::kShared && !writes && is_shared(address)) forget(address, bytes);
  if (way_ == Way::kIndices && !writes && DeviceMemory::contains(address)) forget(address, bytes);
  if (way_ != Way::kKernels || !DeviceMemory::contains(address)) return;
  constexpr std::size_t kWord = 4;
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kWord;
  for (std::size_t at = 0; at < bytes; at += kWord) {
    if (writes) stored_[begin + at / kWord] = kernel_;
    const auto stored = stored_.find(begin + at / kWord);
    if (stored != stored_.end() && stored->second != kernel_)
      forget(static_cast<const std::byte*>(address) + at, std::min(kWord, bytes));
  }
}

void Forgetter::begin_grid(const KernelCall& /*call*/) {
  ++kernel_;
  if (way_ != Way::kConstant) return;
  const VariableAccess variables;
  for (const Symbol& symbol : all_symbols())
    if (symbol.kind == SymbolKind::kConstant) forget(symbol.address, symbol.bytes);
}

void Forgetter::exchanged(void* result, std::size_t bytes) {
  if (way_ == Way::kShuffles) forget(result, bytes);
}

void Forgetter::copied(void* to, std::size_t bytes) {
  if (way_ == Way::kCopies) forget(to, bytes);
}

void Forgetter::begin_atomic(const void* address, std::size_t bytes, unsigned /*kind*/,
                             const void* /*place*/) {
  if (way_ != Way::kAtomics || bytes > before_atomic_.size()) return;
  atomic_ = bytes_at(address);
  atomic_bytes_ = bytes;
  std::memcpy(before_atomic_.data(), address, bytes);
}

void Forgetter::end_atomic() {
  std::byte* const place = std::exchange(atomic_, nullptr);
  if (place == nullptr) return;
  bool is_number = false;
  for_each_number(place, atomic_bytes_, [&](std::byte*, auto) { is_number = true; });
  if (is_number) std::memcpy(place, before_atomic_.data(), atomic_bytes_);
}

}  // namespace convlab::emulation
