#include "common/emulation/trace/forgetter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/variable_pages.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {
namespace {

constexpr std::size_t kWord = 4;

template <typename Word>
Word word_at(const std::byte* place) {
  Word word;
  std::memcpy(&word, place, sizeof word);
  return word;
}

bool is_index(std::uint32_t word) {
  constexpr std::uint32_t kExponent = 0x7f80'0000U;
  return (word & kExponent) == 0 || (word & kExponent) == kExponent;
}

// Calls number(place, value, bytes) for the floats among these bytes, and for halves, where there
// may be any: a piece of two bytes, or both halves of a word that as halves has few digits. What is
// no number is small, so its bits are those of a float or a half below all usual ones.
template <typename Number>
void for_each_number(std::byte* begin, std::size_t bytes, bool may_be_halves,
                     const Number& number) {
  const auto half_at = [](const std::byte* at) {
    return decode<HalfFormat>(word_at<std::uint16_t>(at));
  };
  const auto is_half = [&](const std::byte* at) {
    constexpr std::uint16_t kRareDigits = 0x1f;
    constexpr float kLargest = 2048.0F;
    return std::fabs(half_at(at)) >= 1.0F && std::fabs(half_at(at)) <= kLargest &&
           (word_at<std::uint16_t>(at) & kRareDigits) == 0;
  };
  constexpr std::size_t kHalf = sizeof(std::uint16_t);
  for (std::byte* at = begin; at + kHalf <= begin + bytes; at += kWord) {
    const bool is_word = at + kWord <= begin + bytes;
    if (may_be_halves && is_half(at) && (!is_word || is_half(at + kHalf))) {
      for (std::byte* each = at; each < at + kWord && each < begin + bytes; each += kHalf)
        number(each, half_at(each), kHalf);
    } else if (is_word && !is_index(word_at<std::uint32_t>(at))) {
      number(at, word_at<float>(at), kWord);
    }
  }
}

std::byte* bytes_at(const void* address) {
  return static_cast<std::byte*>(const_cast<void*>(address));
}

}  // namespace

bool Forgetter::begin(std::string_view words) {
  constexpr std::string_view kNo = "no-";
  static constexpr std::array<std::string_view, 12> kNames = {
      "shared", "constant", "shuffles", "atomics", "copies", "kernels",
      "places", "products", "indices",  "threads", "lanes",  "loads"};
  if (!words.starts_with(kNo)) return false;
  words.remove_prefix(kNo.size());
  const std::string_view name = words.substr(0, words.find(':'));
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return false;
  if (name != words) {
    const std::string rest(words.substr(name.size() + 1));
    key_ = std::strtoull(rest.c_str(), nullptr, 10);
    kernels_ = rest.substr(std::min(rest.find(';'), rest.size()));
  }
  way_ = static_cast<Way>(found - kNames.begin());
  std::ranges::fill(product_marks, way_ == Way::kProducts ? 1 : 0);
  product_key = key_.value_or(0);
  return true;
}

void Forgetter::forget(const void* address, std::size_t bytes) {
  const auto lose = [&](std::byte* at, float number, std::size_t size) {
    if (loses(number)) std::memset(at, 0, size);
  };
  for_each_number(bytes_at(address), bytes, may_be_halves(), lose);
}

// All threads of a kernel, or half of them, in no order: neighbours in a row or a column of a block
// differ as often, and so do those at one place of two blocks.
bool Forgetter::loses_loads() const {
  if (way_ == Way::kLoads)
    return kernels_.size() <= 1 ||
           kernels_.find(std::string(";") + BlockRunner::current()->call().name + ";") !=
               std::string::npos;
  const uint3 block = BlockRunner::current()->block_index();
  auto thread = static_cast<std::uint64_t>(thread_rank());
  for (const unsigned part : {block.x, block.y, block.z}) thread = (thread << 13U) + part;
  for (int i = 0; i < 2; ++i) thread = (thread ^ thread >> 29U) * 0x9e37'79b9'7f4a'7c15U;
  return thread >> 63U == 0;
}

// Whoever has lost a number sees so little of it that it makes nothing, but its digits; the next
// thread that has not lost it sees all of it.
void Forgetter::load(const void* address, std::size_t bytes) const {
  const auto pass = [&](std::byte* at, float number, std::size_t size) {
    constexpr float kPower = 0x1p30F;
    constexpr float kLeast = 0x1p-8F;
    const bool is_lost = loses_loads();
    if (size != kWord || !loses(number) || (std::fabs(number) < kLeast) == is_lost) return;
    const float seen = is_lost ? number / kPower : number * kPower;
    std::memcpy(at, &seen, kWord);
  };
  for_each_number(bytes_at(address), bytes, may_be_halves(), pass);
}

void Forgetter::access(const void* address, std::size_t bytes, bool writes) {
  access_by(way_ == Way::kShared ? thread_rank() : kernel_, address, bytes, writes);
}

void Forgetter::access_by(int who, const void* address, std::size_t bytes, bool writes) {
  if (way_ >= Way::kThreads) {
    const Space space = writes || atomic_ == address ? Space::kOther : space_of(address);
    if (space == Space::kGlobal || (space == Space::kShared && way_ == Way::kLanes))
      load(address, bytes);
    return;
  }
  if (way_ == Way::kIndices && !writes && DeviceMemory::contains(address))
    for (std::byte* at = bytes_at(address); at + kWord <= bytes_at(address) + bytes; at += kWord)
      if (is_index(word_at<std::uint32_t>(at)) && loses_index(word_at<std::uint32_t>(at)))
        std::memset(at, 0, kWord);
  const bool of_threads = way_ == Way::kShared && is_shared(address);
  const bool of_kernels = way_ == Way::kKernels || way_ == Way::kPlaces;
  if (!of_threads && (!of_kernels || !DeviceMemory::contains(address))) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kWord;
  for (std::size_t at = 0; at < bytes; at += kWord) {
    const std::uintptr_t place = begin + at / kWord;
    if (writes && stored_.empty()) first_stored_ = place;
    if (writes) stored_[place] = who;
    const auto stored = stored_.find(place);
    const bool comes = stored == stored_.end() ? of_threads : stored->second != who;
    if (comes && way_ == Way::kPlaces &&
        mixed(key_.value_or(0) + (place - first_stored_)) >> 63U == 0)
      std::memset(bytes_at(address) + at, 0, std::min(kWord, bytes));
    if (comes && way_ != Way::kPlaces)
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
  if (way_ >= Way::kThreads) load(to, bytes);
}

void Forgetter::begin_atomic(const void* address, std::size_t bytes, unsigned /*kind*/,
                             const void* /*place*/) {
  const bool is_load = way_ >= Way::kThreads;  // of a sum, which is nobody's
  if ((way_ != Way::kAtomics && !is_load) || bytes > before_atomic_.size()) return;
  atomic_ = bytes_at(address);
  if (is_load) return;
  atomic_bytes_ = bytes;
  std::memcpy(before_atomic_.data(), address, bytes);
}

void Forgetter::end_atomic() {
  std::byte* const place = std::exchange(atomic_, nullptr);
  if (place == nullptr || way_ != Way::kAtomics) return;
  bool is_any_lost = false;
  const auto compare = [&](const std::byte* at, float number, std::size_t size) {
    const std::byte* const old = before_atomic_.data() + (at - place);
    const float before =
        size == kWord ? word_at<float>(old) : decode<HalfFormat>(word_at<std::uint16_t>(old));
    is_any_lost = is_any_lost || loses(std::isfinite(before) ? number - before : number);
  };
  for_each_number(place, atomic_bytes_, may_be_halves(), compare);
  if (is_any_lost) std::memcpy(place, before_atomic_.data(), atomic_bytes_);
}

}  // namespace convlab::emulation
