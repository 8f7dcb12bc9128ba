#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/emulation/trace/access_counts.hpp"
#include "common/emulation/trace/lane_pairing.hpp"
#include "common/emulation/trace/places.hpp"
#include "common/emulation/trace/products.hpp"

namespace convlab::emulation {

/// A place, what is done there, and the kind of memory: a copy reads and writes at one place, and a
/// pointer may be of one kind for some threads and of another for others.
using Spot = std::uint64_t;
inline constexpr unsigned kSpotBits = 4;
inline Spot spot_of(Place place, Space space, bool writes) {
  return Spot{place} << kSpotBits | static_cast<Spot>(space) << 1U | (writes ? 1U : 0U);
}

/// Everything that is counted.
struct Totals {
  CodeOrder code;
  /// By kernel, spot and bytes, over all blocks.
  std::map<std::tuple<std::string, Spot, std::size_t>, AccessNote> totals;
  std::map<std::pair<const char*, std::uint64_t>, ProductNote> products;  ///< on tensor cores
  std::vector<Product> places_of_products{Product{}};  ///< by number; the first one is none
  std::vector<std::int32_t> product_at;                ///< by place: its number; -1: not known yet
  std::map<std::pair<std::string, std::size_t>, ProductCount> made;  ///< by kernel and number
  std::map<std::pair<const char*, std::uint64_t>, BarrierNote> met;
  BarrierNeeds needs;
  AccessNotes sums;                                 ///< what has no line
  std::map<std::string, std::int64_t> local_loads;  ///< by kernel
};

/// What the totals say, for the grader; they begin again at zero.
AccessNotes take_notes(Totals& all);

}  // namespace convlab::emulation
