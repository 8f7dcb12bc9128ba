#pragma once

// Cooperative groups: the block, its tiles, and the lanes that run together.
//
// Not here: grid-wide synchronisation (blocks run one after another, so waiting for all of them
// would never end) and tiles of more than a warp.

#include <cstdint>
#include <type_traits>

#include "common/emulation/extended/lane_group.hpp"
#include "common/emulation/include/convlab_emulation/builtins.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

namespace detail {
using convlab::emulation::CallSite;
using convlab::emulation::LaneGroup;

inline unsigned block_size() {
  return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned block_rank() {
  return static_cast<unsigned>(convlab::emulation::thread_rank());
}
}  // namespace detail

/// Any group whose kind is known at run time only: the block or lanes of one warp.
class thread_group {
 public:
  [[nodiscard]] unsigned size() const { return is_block_ ? detail::block_size() : lanes_.count(); }
  [[nodiscard]] unsigned num_threads() const { return size(); }
  [[nodiscard]] unsigned thread_rank() const {
    return is_block_ ? detail::block_rank() : lanes_.rank();
  }
  void sync(CONVLAB_CALL_SITE) const {
    if (is_block_) {
      convlab::emulation::block_barrier("thread_group::sync", false, site);
    } else {
      lanes_.barrier("thread_group::sync", site);
    }
  }

  /// The lanes, for a group that is not the block.
  [[nodiscard]] const detail::LaneGroup& lanes() const { return lanes_; }

 protected:
  thread_group() : is_block_(true), lanes_(0) {}
  explicit thread_group(detail::LaneGroup lanes) : is_block_(false), lanes_(lanes) {}

 private:
  bool is_block_;
  detail::LaneGroup lanes_;
};

/// All threads of the block.
class thread_block : public thread_group {
 public:
  thread_block() {}  // no aggregate: a base with a protected constructor would be initialised by {}

  static void sync(CONVLAB_CALL_SITE) {
    convlab::emulation::block_barrier("thread_block::sync", false, site);
  }
  [[nodiscard]] static unsigned thread_rank() { return detail::block_rank(); }
  [[nodiscard]] static unsigned size() { return detail::block_size(); }
  [[nodiscard]] static unsigned num_threads() { return detail::block_size(); }
  [[nodiscard]] static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  [[nodiscard]] static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  [[nodiscard]] static dim3 group_dim() { return blockDim; }
  [[nodiscard]] static dim3 dim_threads() { return blockDim; }
};

/// All blocks of the launch.
class grid_group {
 public:
  [[nodiscard]] static bool is_valid() { return convlab::emulation::is_cooperative(); }
  static void sync(CONVLAB_CALL_SITE) { convlab::emulation::grid_barrier(site); }
  [[nodiscard]] static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  [[nodiscard]] static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
           blockIdx.x;
  }
  [[nodiscard]] static unsigned long long num_threads() {
    return num_blocks() * detail::block_size();
  }
  [[nodiscard]] static unsigned long long size() { return num_threads(); }
  [[nodiscard]] static unsigned long long thread_rank() {
    return block_rank() * detail::block_size() + detail::block_rank();
  }
  [[nodiscard]] static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  [[nodiscard]] static dim3 dim_blocks() { return gridDim; }
  [[nodiscard]] static dim3 group_dim() { return gridDim; }
};

namespace detail {
/// Lanes of one warp, whose values can be compared.
class warp_group : public thread_group {
 public:
  template <class T>
  unsigned match_any(T value, CONVLAB_CALL_SITE) const {
    return lanes().match_any(value, site);
  }
  template <class T>
  unsigned match_all(T value, int& predicate, CONVLAB_CALL_SITE) const {
    const unsigned same = lanes().match_all(value, site);
    predicate = same != 0;
    return same;
  }

 protected:
  using thread_group::thread_group;
};
}  // namespace detail

/// Lanes of one warp that run together. Ranks count them without gaps.
class coalesced_group : public detail::warp_group {
 public:
  explicit coalesced_group(detail::LaneGroup lanes) : warp_group(lanes) {}

  template <class T>
  T shfl(T value, unsigned rank, CONVLAB_CALL_SITE) const {
    return lanes().value_of("coalesced_group::shfl", value, static_cast<int>(rank), site);
  }
  template <class T>
  T shfl_up(T value, int delta, CONVLAB_CALL_SITE) const {
    return lanes().value_of("coalesced_group::shfl_up", value,
                            static_cast<int>(thread_rank()) - delta, site);
  }
  template <class T>
  T shfl_down(T value, int delta, CONVLAB_CALL_SITE) const {
    return lanes().value_of("coalesced_group::shfl_down", value,
                            static_cast<int>(thread_rank()) + delta, site);
  }
  int any(int predicate, CONVLAB_CALL_SITE) const {
    return lanes().ballot("coalesced_group::any", predicate != 0, site) != 0;
  }
  int all(int predicate, CONVLAB_CALL_SITE) const {
    return lanes().ballot("coalesced_group::all", predicate == 0, site) == 0;
  }
  unsigned ballot(int predicate, CONVLAB_CALL_SITE) const {
    return lanes().ballot("coalesced_group::ballot", predicate != 0, site);
  }
  [[nodiscard]] unsigned meta_group_size() const { return 1; }
  [[nodiscard]] unsigned meta_group_rank() const { return 0; }
};

/// kSize neighbouring lanes of a warp.
template <unsigned kSize, class Parent = void>
class thread_block_tile;

template <unsigned kSize>
class thread_block_tile<kSize, void> : public detail::warp_group {
  static_assert(kSize != 0 && kSize <= 32 && (kSize & (kSize - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");
  static constexpr int kWidth = static_cast<int>(kSize);

 public:
  thread_block_tile(detail::LaneGroup lanes, unsigned meta_rank, unsigned meta_size)
      : warp_group(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}

  [[nodiscard]] static constexpr unsigned size() { return kSize; }
  [[nodiscard]] static constexpr unsigned num_threads() { return kSize; }
  [[nodiscard]] unsigned thread_rank() const {
    return static_cast<unsigned>(convlab::emulation::lane_id()) % kSize;
  }
  /// Which of its parent's tiles this is, and how many there are.
  [[nodiscard]] unsigned meta_group_rank() const { return meta_rank_; }
  [[nodiscard]] unsigned meta_group_size() const { return meta_size_; }

  void sync(CONVLAB_CALL_SITE) const { lanes().barrier("thread_block_tile::sync", site); }
  template <class T>
  T shfl(T value, int rank, CONVLAB_CALL_SITE) const {
    return shuffle("thread_block_tile::shfl", Mode::kIndex, value, rank, site);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, CONVLAB_CALL_SITE) const {
    return shuffle("thread_block_tile::shfl_up", Mode::kUp, value, static_cast<int>(delta), site);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, CONVLAB_CALL_SITE) const {
    return shuffle("thread_block_tile::shfl_down", Mode::kDown, value, static_cast<int>(delta),
                   site);
  }
  template <class T>
  T shfl_xor(T value, unsigned lane_mask, CONVLAB_CALL_SITE) const {
    return shuffle("thread_block_tile::shfl_xor", Mode::kXor, value, static_cast<int>(lane_mask),
                   site);
  }
  int any(int predicate, CONVLAB_CALL_SITE) const {
    return lanes().ballot("thread_block_tile::any", predicate != 0, site) != 0;
  }
  int all(int predicate, CONVLAB_CALL_SITE) const {
    return lanes().ballot("thread_block_tile::all", predicate == 0, site) == 0;
  }
  unsigned ballot(int predicate, CONVLAB_CALL_SITE) const {
    return lanes().ballot("thread_block_tile::ballot", predicate != 0, site);
  }

 private:
  using Mode = convlab::emulation::ShuffleMode;

  template <class T>
  T shuffle(const char* name, Mode mode, const T& value, int argument,
            detail::CallSite site) const {
    return convlab::emulation::shuffle(name, mode, lanes().mask(), value, argument, kWidth, site);
  }

  unsigned meta_rank_;
  unsigned meta_size_;
};

template <unsigned kSize, class Parent>
class thread_block_tile : public thread_block_tile<kSize, void> {
 public:
  using thread_block_tile<kSize, void>::thread_block_tile;
};

// Making groups.

inline thread_block this_thread_block() {
  return {};
}
inline grid_group this_grid() {
  return {};
}
/// The lanes of the warp that are here together.
inline coalesced_group coalesced_threads(CONVLAB_CALL_SITE) {
  return coalesced_group(detail::LaneGroup(convlab::emulation::converged_lanes(site)));
}
/// The calling thread alone.
inline thread_block_tile<1> this_thread() {
  return {detail::LaneGroup(1U << convlab::emulation::lane_id()), 0, 1};
}

namespace detail {
template <unsigned kSize>
LaneGroup lanes_of_tile() {
  const auto lane = static_cast<unsigned>(convlab::emulation::lane_id());
  const unsigned ones = kSize >= 32 ? 0xffffffffU : (1U << kSize % 32) - 1U;
  return LaneGroup(ones << (lane - lane % kSize));
}
}  // namespace detail

template <unsigned kSize>
thread_block_tile<kSize, thread_block> tiled_partition(const thread_block& /*block*/) {
  return {detail::lanes_of_tile<kSize>(), detail::block_rank() / kSize,
          (detail::block_size() + kSize - 1) / kSize};
}
template <unsigned kSize, unsigned kParentSize, class Grandparent>
thread_block_tile<kSize, thread_block_tile<kParentSize, Grandparent>> tiled_partition(
    const thread_block_tile<kParentSize, Grandparent>& parent) {
  static_assert(kSize <= kParentSize, "a tile is no larger than its parent");
  return {detail::lanes_of_tile<kSize>(), parent.thread_rank() / kSize, kParentSize / kSize};
}

/// Groups of `size` members with neighbouring ranks; the last one may be smaller.
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned first = parent.thread_rank() / size * size;
  std::uint32_t mask = 0;
  for (unsigned rank = first; rank < first + size && rank < parent.size(); ++rank) {
    mask |= 1U << parent.lanes().lane_of(rank);
  }
  return coalesced_group(detail::LaneGroup(mask));
}
/// @param size  a power of two up to 32
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  const bool is_block = parent.lanes().mask() == 0;
  return tiled_partition(
      coalesced_group(detail::LaneGroup(is_block ? 0xffffffffU : parent.lanes().mask())), size);
}

/// The members of the parent with an equal label.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& parent, Label label, CONVLAB_CALL_SITE) {
  unsigned same = 0;
  convlab::emulation::warp_collective(
      {&convlab::emulation::match_any_all<Label>, "labeled_partition"}, parent.lanes().mask(),
      &label, &same, site);
  return coalesced_group(detail::LaneGroup(same));
}
/// The members of the parent for which the predicate is the same.
template <class Group>
coalesced_group binary_partition(const Group& parent, bool predicate, CONVLAB_CALL_SITE) {
  return labeled_partition(parent, predicate ? 1 : 0, site);
}

// The same as free functions.

template <class Group>
void sync(const Group& group, CONVLAB_CALL_SITE) {
  group.sync(site);
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.size();
}

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
