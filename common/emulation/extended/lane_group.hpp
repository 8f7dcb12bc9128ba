#pragma once

// A set of lanes of one warp that act together: what the tiles and coalesced groups of cooperative
// groups are made of. A lane's rank is its position among the lanes of the set.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/warp_functions.hpp"

namespace convlab::emulation {

class LaneGroup {
 public:
  constexpr explicit LaneGroup(std::uint32_t mask) : mask_(mask) {}

  [[nodiscard]] constexpr std::uint32_t mask() const { return mask_; }
  [[nodiscard]] constexpr unsigned count() const { return static_cast<unsigned>(popcount(mask_)); }
  [[nodiscard]] unsigned rank() const { return rank_of(lane_id()); }

  /// Rank of a lane; of one outside the group, the number of members below it.
  [[nodiscard]] constexpr unsigned rank_of(int lane) const {
    return static_cast<unsigned>(popcount(mask_ & ((1U << lane) - 1U)));
  }

  [[nodiscard]] constexpr int lane_of(unsigned rank) const {
    const int first = countr_zero(mask_);
    const std::uint32_t run = mask_ >> first;
    if ((run & (run + 1)) == 0) return first + static_cast<int>(rank);  // neighbours
    std::uint32_t rest = mask_;
    for (unsigned i = 0; i < rank; ++i) rest &= rest - 1;
    return countr_zero(rest | 0x8000'0000U);
  }

  /// The members' bits of a ballot, moved together: bit r is that of rank r.
  [[nodiscard]] constexpr std::uint32_t pack(std::uint32_t lanes) const {
    std::uint32_t packed = 0;
    unsigned rank = 0;
    for (const int lane : LaneRange(mask_)) packed |= (lanes >> lane & 1U) << rank++;
    return packed;
  }

  void barrier(const char* name, CallSite site) const {
    warp_collective({&nothing_to_exchange, name, true}, mask_, nullptr, nullptr, site);
  }

  [[nodiscard]] std::uint32_t ballot(const char* name, bool predicate, CallSite site) const {
    return pack(combine_lanes<int, unsigned, ballot_of>(name, mask_, predicate ? 1 : 0, site));
  }

  /// The value of another rank; the caller's own where the group has no such rank.
  template <class T>
  [[nodiscard]] T value_of(const char* name, const T& value, unsigned rank, CallSite site) const {
    const int lane = rank < count() ? lane_of(rank) : lane_id();
    return shuffle(name, ShuffleMode::kIndex, mask_, value, lane, kWarpSize, site);
  }

  template <class T>
  [[nodiscard]] std::uint32_t match_any(const T& value, CallSite site) const {
    unsigned same = 0;
    warp_collective({&match_any_all<T>, "match_any"}, mask_, &value, &same, site);
    return pack(same);
  }

  template <class T>
  [[nodiscard]] std::uint32_t match_all(const T& value, CallSite site) const {
    return pack(
        combine_lanes<T, unsigned, emulation::match_all<T>>("match_all", mask_, value, site));
  }

 private:
  std::uint32_t mask_;
};

}  // namespace convlab::emulation
