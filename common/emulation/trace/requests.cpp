#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "common/emulation/trace/access_counts.hpp"

extern const unsigned char etext[];                     // of the linker: where machine code ends
extern "C" void* _Unwind_FindEnclosingFunction(void*);  // NOLINT: of libgcc

namespace convlab::emulation {
namespace {

constexpr std::uintptr_t kSector = 32;
constexpr std::uintptr_t kBankWord = 4;
constexpr std::uintptr_t kBanks = 32;

int distinct(std::vector<std::uintptr_t>& values) {
  std::ranges::sort(values);
  return static_cast<int>(std::unique(values.begin(), values.end()) - values.begin());
}

// The most different words in one bank.
int deepest_bank(const Request& request, std::size_t words, LaneRange lanes) {
  std::array<std::vector<std::uintptr_t>, kBanks> banks;
  for (const int lane : lanes) {
    for (std::size_t i = 0; i < words; ++i) {
      const std::uintptr_t word = request.address[static_cast<std::size_t>(lane)] / kBankWord + i;
      banks[word % kBanks].push_back(word);
    }
  }
  int most = 0;
  for (auto& bank : banks) most = std::max(most, distinct(bank));
  return most;
}

std::uint32_t lanes_from(int first, int count) {
  return count >= kWarpSize ? kFullMask : ((1U << count) - 1U) << first;
}

// Wider accesses than a word are served for a half or a quarter of the warp at a time, or for two
// such groups together if they have no conflict: an H200 needs two passes, not four, for 16 bytes
// that all lanes share.
Parts passes(const Request& request, std::size_t bytes) {
  const std::size_t words = std::max<std::size_t>(1, bytes / kBankWord);
  const int group = static_cast<int>(kWarpSize / words);
  Parts parts;
  const auto serve = [&](std::uint32_t lanes) {
    const int depth = deepest_bank(request, words, LaneRange(lanes));
    parts.all += depth;
    parts.conflicts += std::max(0, depth - 1);
  };
  for (int first = 0; first < kWarpSize; first += 2 * group) {
    const std::uint32_t both = request.mask & lanes_from(first, 2 * group);
    if (words == 1 || deepest_bank(request, words, LaneRange(both)) <= 1) {
      serve(both);
    } else {
      serve(both & lanes_from(first, group));
      serve(both & lanes_from(first + group, group));
    }
  }
  return parts;
}

// Lanes that change the same address wait for each other; each turn takes the sector again, as an
// H100 measures. @return the most turns of an address, and the sectors of all turns
Parts turns(const Request& request) {
  std::map<std::uintptr_t, int> lanes;
  std::map<std::uintptr_t, int> sectors;
  Parts most;
  for (const int lane : LaneRange(request.mask)) {
    const std::uintptr_t address = request.address[static_cast<std::size_t>(lane)];
    const int turn = ++lanes[address];
    most.conflicts = std::max(most.conflicts, turn - 1);
    int& of_sector = sectors[address / kSector];
    of_sector = std::max(of_sector, turn);
  }
  for (const auto& [sector, count] : sectors) most.all += count;
  return most;
}

}  // namespace

const char* name_of(Space space) {
  constexpr std::array<const char*, 5> kNames = {"other", "global", "shared", "constant", "local"};
  return kNames[static_cast<std::size_t>(space)];
}

Parts parts_of(const Request& request, Space space, std::size_t bytes, bool atomic) {
  Parts parts;
  if (space == Space::kShared) {
    parts = passes(request, bytes);
  } else {
    const std::uintptr_t unit = space == Space::kConstant ? kBankWord : kSector;
    std::vector<std::uintptr_t> different;
    for (const int lane : LaneRange(request.mask)) {
      const std::uintptr_t address = request.address[static_cast<std::size_t>(lane)];
      for (auto part = address / unit; part <= (address + bytes - 1) / unit; ++part)
        different.push_back(part);
    }
    parts.all = distinct(different);
  }
  if (atomic) {
    const Parts each_turn = turns(request);
    parts.conflicts = each_turn.conflicts;
    if (space == Space::kGlobal) parts.all = each_turn.all;
  }
  return parts;
}

// How many numbers the instruction at `at` multiplies or divides; 0 if it does neither. Kernels are
// compiled for processors with FMA where there are some, so they have both the short and the long
// form of an instruction.
// Source   Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: MULPS is 0F 59,
// with a byte from 40 to 4F before it for further registers; F3 before these stands for one float,
// F2 for one double, 66 for two; divisions have 5E in place of 59. Their long form begins with C5,
// or C4 and the map 1: the last two bits of the byte before the code stand for 66, F3 and F2, the
// third last doubles what is more than one. Fused instructions begin with C4, the map 2, and a byte
// whose first bit stands for doubles; their codes are 96 to 9F, A6 to AF and B6 to BF, odd ones
// from 99 on for one number.
struct Multiplied {
  int numbers = 0;
  bool are_doubles = false;
};
Multiplied multiplied_by(const unsigned char* at) {
  const auto is_product = [](unsigned char code) { return code == 0x59 || code == 0x5e; };
  const auto of_long_form = [](unsigned char before) {
    constexpr std::array<Multiplied, 4> kByPrefix = {{{4}, {2, true}, {1}, {1, true}}};
    Multiplied many = kByPrefix[before & 3U];
    if (many.numbers > 1) many.numbers <<= before >> 2U & 1U;
    return many;
  };
  const Multiplied none;
  if (at[0] == 0xc5) return is_product(at[2]) ? of_long_form(at[1]) : none;
  if (at[0] == 0xc4 && (at[1] & 0x1fU) == 1) return is_product(at[3]) ? of_long_form(at[2]) : none;
  if (at[0] == 0xc4 && (at[1] & 0x1fU) == 2 && (at[2] & 3U) == 1) {
    const unsigned row = at[3] >> 4U;
    const unsigned column = at[3] & 15U;
    if (row < 9 || row > 11 || column < 6) return none;
    const bool are_doubles = (at[2] & 0x80U) != 0;
    if (column >= 8 && column % 2 == 1) return {1, are_doubles};
    return {(are_doubles ? 2 : 4) << (at[2] >> 2U & 1U), are_doubles};
  }
  if (at[0] != 0x0f || !is_product(at[1])) return none;
  const bool has_register_byte = at[-1] >= 0x40 && at[-1] <= 0x4f;
  const unsigned char prefix = has_register_byte ? at[-2] : at[-1];
  if (prefix == 0xf3) return {1};
  return prefix == 0xf2   ? Multiplied{1, true}
         : prefix == 0x66 ? Multiplied{2, true}
                          : Multiplied{4};
}

// How many numbers a piece of a program multiplies or divides, read from its machine code.
//
// Idea     The compiler has put a call in front of each block of the program, all to the same
//          function. What lies between two of them in one function is run as a whole. A call is E8
//          and a distance.
// Not      Processors other than x86-64, and functions of a library; fmaf has a hook.
MadeProducts products_behind([[maybe_unused]] const void* caller) {
  MadeProducts products;
#ifdef __x86_64__
  constexpr int kCallBytes = 5;
  const auto* const begin = static_cast<const unsigned char*>(caller);
  const auto called_from = [](const unsigned char* at) {
    std::int32_t distance = 0;
    std::memcpy(&distance, at + 1, sizeof(distance));
    return at + kCallBytes + distance;
  };
  const auto function_of = [](const unsigned char* at) {
    return _Unwind_FindEnclosingFunction(const_cast<unsigned char*>(at));
  };
  if (begin[-kCallBytes] != 0xe8) return products;
  const void* const announces = called_from(begin - kCallBytes);
  for (const unsigned char* at = begin; at + kCallBytes < etext; ++at) {
    if (*at == 0xe8 && called_from(at) == announces) break;
    const Multiplied many = multiplied_by(at);
    if (many.numbers == 0) continue;
    if (function_of(at) != function_of(begin - 1)) break;
    if (products.first == nullptr) products.first = at;
    (many.are_doubles ? products.doubles : products.floats) += many.numbers;
    ++at;  // behind the code of a short form; the long ones hold none
  }
#endif
  return products;
}

}  // namespace convlab::emulation
