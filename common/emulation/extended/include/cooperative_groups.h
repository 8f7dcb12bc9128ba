#pragma once

// Cooperative groups: the grid, the block, its tiles, and the lanes that run together.

#include <cstdint>
#include <iterator>
#include <type_traits>

#include "common/emulation/extended/libcuxx.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

namespace detail {
using convlab::emulation::CallSite;

inline unsigned block_size() {
  return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned block_rank() {
  return static_cast<unsigned>(convlab::emulation::thread_rank());
}

/// Where the threads of a tile of several warps meet. Tile i of n in the largest block is number
/// n + i, whatever its size.
struct TileMemory {
  static constexpr unsigned kLargestBlock = 1024;
  cuda::barrier<cuda::thread_scope_block> barriers[kLargestBlock / 32];
  const void* values[kLargestBlock];  ///< by rank in the block
};
}  // namespace detail

/// Shared memory, which this_thread_block takes so that tiles may have more than 32 threads.
template <unsigned kMaxBlockSize = detail::TileMemory::kLargestBlock>
struct block_tile_memory : detail::TileMemory {};

/// Any group whose kind is known at run time only: the block or lanes of one warp.
class thread_group {
 public:
  [[nodiscard]] unsigned size() const {
    return mask_ == 0 ? detail::block_size()
                      : static_cast<unsigned>(convlab::emulation::popcount(mask_));
  }
  [[nodiscard]] unsigned num_threads() const { return size(); }
  /// Of a lane: its position among the lanes of the group.
  [[nodiscard]] unsigned thread_rank() const {
    const std::uint32_t below = (1U << convlab::emulation::lane_id()) - 1U;
    return mask_ == 0 ? detail::block_rank()
                      : static_cast<unsigned>(convlab::emulation::popcount(mask_ & below));
  }
  void sync(CONVLAB_CALL_SITE) const {
    if (mask_ == 0)
      convlab::emulation::block_barrier("thread_group::sync", false, site);
    else
      meet("thread_group::sync", site);
  }

  /// The lanes; 0 for the block.
  [[nodiscard]] std::uint32_t mask() const { return mask_; }

 protected:
  explicit thread_group(std::uint32_t mask) : mask_(mask) {}
  /// The lanes wait for each other.
  void meet(const char* name, detail::CallSite site) const {
    convlab::emulation::warp_collective({&convlab::emulation::nothing_to_exchange, name, true},
                                        mask_, nullptr, nullptr, site);
  }

 private:
  std::uint32_t mask_;
};

/// All threads of the block.
class thread_block : public thread_group {
 public:
  explicit thread_block(detail::TileMemory* memory = nullptr) : thread_group(0), memory_(memory) {}

  [[nodiscard]] detail::TileMemory* memory() const { return memory_; }

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

 private:
  detail::TileMemory* memory_;
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
  [[nodiscard]] int lane_of(unsigned rank) const {
    const int first = convlab::emulation::countr_zero(mask());
    const std::uint32_t run = mask() >> first;
    if ((run & (run + 1)) == 0) return first + static_cast<int>(rank);  // neighbours
    std::uint32_t rest = mask();
    for (unsigned i = 0; i < rank; ++i) rest &= rest - 1;
    return convlab::emulation::countr_zero(rest | 0x8000'0000U);
  }
  int any(int predicate, CONVLAB_CALL_SITE) const { return __any_sync(mask(), predicate, site); }
  int all(int predicate, CONVLAB_CALL_SITE) const { return __all_sync(mask(), predicate, site); }
  unsigned ballot(int predicate, CONVLAB_CALL_SITE) const {
    return pack(__ballot_sync(mask(), predicate, site));
  }
  template <class T>
  T shfl(T value, unsigned rank, CONVLAB_CALL_SITE) const {
    return value_of("cooperative_groups: shfl", value, rank % size(), site);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, CONVLAB_CALL_SITE) const {
    return value_of("cooperative_groups: shfl_up", value, thread_rank() - delta, site);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, CONVLAB_CALL_SITE) const {
    return value_of("cooperative_groups: shfl_down", value, thread_rank() + delta, site);
  }
  template <class T>
  T shfl_xor(T value, unsigned lane_mask, CONVLAB_CALL_SITE) const {
    return value_of("cooperative_groups: shfl_xor", value, thread_rank() ^ lane_mask, site);
  }
  template <class T>
  unsigned match_any(T value, CONVLAB_CALL_SITE) const {
    return pack(__match_any_sync(mask(), value, site));
  }
  template <class T>
  unsigned match_all(T value, int& predicate, CONVLAB_CALL_SITE) const {
    return pack(__match_all_sync(mask(), value, &predicate, site));
  }

 protected:
  using thread_group::thread_group;

 private:
  /// The members' bits of a ballot, moved together: bit r is that of rank r.
  [[nodiscard]] unsigned pack(std::uint32_t lanes) const {
    unsigned packed = 0;
    unsigned rank = 0;
    for (const int lane : convlab::emulation::LaneRange(mask()))
      packed |= (lanes >> lane & 1U) << rank++;
    return packed;
  }
  /// The value of another rank; the caller's own where the group has no such rank.
  template <class T>
  [[nodiscard]] T value_of(const char* name, T value, unsigned rank, CallSite site) const {
    using convlab::emulation::ShuffleMode;
    const int lane = rank < size() ? lane_of(rank) : convlab::emulation::lane_id();
    return convlab::emulation::shuffle(name, ShuffleMode::kIndex, mask(), value, lane,
                                       convlab::emulation::kWarpSize, site);
  }
};
}  // namespace detail

/// Lanes of one warp that run together. Ranks count them without gaps.
class coalesced_group : public detail::warp_group {
 public:
  explicit coalesced_group(std::uint32_t mask) : warp_group(mask) {}

  [[nodiscard]] unsigned meta_group_size() const { return 1; }
  [[nodiscard]] unsigned meta_group_rank() const { return 0; }
};

namespace detail {
template <unsigned kSize>
std::uint32_t lanes_of_tile() {
  const auto lane = static_cast<unsigned>(convlab::emulation::lane_id());
  const unsigned ones = kSize >= 32 ? 0xffffffffU : (1U << kSize % 32) - 1U;
  return ones << (lane - lane % kSize);
}

/// kSize neighbouring lanes of a warp.
template <unsigned kSize>
class narrow_tile : public warp_group {
 public:
  narrow_tile(std::uint32_t mask, unsigned meta_rank, unsigned meta_size)
      : warp_group(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  narrow_tile(const thread_block& /*block*/, unsigned meta_rank, unsigned meta_size)
      : narrow_tile(lanes_of_tile<kSize>(), meta_rank, meta_size) {}

  [[nodiscard]] static constexpr unsigned size() { return kSize; }
  [[nodiscard]] static constexpr unsigned num_threads() { return kSize; }
  [[nodiscard]] unsigned thread_rank() const {
    return static_cast<unsigned>(convlab::emulation::lane_id()) % kSize;
  }
  /// Which of its parent's tiles this is, and how many there are.
  [[nodiscard]] unsigned meta_group_rank() const { return meta_rank_; }
  [[nodiscard]] unsigned meta_group_size() const { return meta_size_; }

  void sync(CONVLAB_CALL_SITE) const { meet("thread_block_tile::sync", site); }

 private:
  unsigned meta_rank_;
  unsigned meta_size_;
};

/// kSize neighbouring threads of a block, in several warps.
template <unsigned kSize>
class wide_tile {
 public:
  static constexpr bool kIsWide = true;

  wide_tile(const thread_block& block, unsigned meta_rank, unsigned meta_size)
      : memory_(block.memory()), meta_rank_(meta_rank), meta_size_(meta_size) {}

  [[nodiscard]] static constexpr unsigned size() { return kSize; }
  [[nodiscard]] static constexpr unsigned num_threads() { return kSize; }
  [[nodiscard]] static unsigned thread_rank() { return block_rank() % kSize; }
  [[nodiscard]] unsigned meta_group_rank() const { return meta_rank_; }
  [[nodiscard]] unsigned meta_group_size() const { return meta_size_; }

  void sync(CONVLAB_CALL_SITE) const {
    if (memory_ == nullptr)
      convlab::emulation::fail_kernel(
          convlab::emulation::KernelFault::kLaunchFailure, site,
          "a tile of more than 32 threads wants memory: __shared__ block_tile_memory<> memory; "
          "this_thread_block(memory)");
    memory_->barriers[TileMemory::kLargestBlock / kSize + block_rank() / kSize].arrive_and_wait(
        site);
  }
  template <class T>
  T shfl(const T& value, unsigned rank, CONVLAB_CALL_SITE) const {
    return exchange(
        value, [&](const auto& of) { return of(rank % kSize); }, site);
  }
  int any(int predicate, CONVLAB_CALL_SITE) const {
    return fold(
        predicate != 0, [](int a, int b) { return a | b; }, site);
  }
  int all(int predicate, CONVLAB_CALL_SITE) const {
    return fold(
        predicate != 0, [](int a, int b) { return a & b; }, site);
  }
  /// operation over the values of all members, in their order.
  template <class T, class Operation>
  T fold(const T& value, const Operation& operation, CallSite site) const {
    const auto sum_of_all = [&](const auto& of) {
      T sum = of(0);
      for (unsigned rank = 1; rank < kSize; ++rank) sum = operation(sum, of(rank));
      return sum;
    };
    return exchange(value, sum_of_all, site);
  }

 private:
  /// All members show each other their values.
  template <class T, class Result>
  T exchange(const T& value, const Result& result, CallSite site) const {
    if (memory_ != nullptr) memory_->values[block_rank()] = &value;
    sync(site);
    const void* const* const values = memory_->values + block_rank() / kSize * kSize;
    const T mine = result([&](unsigned rank) { return *static_cast<const T*>(values[rank]); });
    sync(site);
    return mine;
  }

  TileMemory* memory_;
  unsigned meta_rank_;
  unsigned meta_size_;
};

template <unsigned kSize>
using any_tile = std::conditional_t<(kSize > 32), wide_tile<kSize>, narrow_tile<kSize>>;
}  // namespace detail

/// kSize neighbouring threads.
template <unsigned kSize, class Parent = void>
class thread_block_tile;

template <unsigned kSize>
class thread_block_tile<kSize, void> : public detail::any_tile<kSize> {
  static_assert(kSize != 0 && kSize <= 1024 && (kSize & (kSize - 1)) == 0,
                "the size of a tile is a power of two up to 1024");

 public:
  using detail::any_tile<kSize>::any_tile;
};

template <unsigned kSize, class Parent>
class thread_block_tile : public thread_block_tile<kSize, void> {
 public:
  using thread_block_tile<kSize, void>::thread_block_tile;
};

// Making groups.

inline thread_block this_thread_block() {
  return thread_block();
}
/// All threads of the block call it.
template <unsigned kMaxBlockSize>
thread_block this_thread_block(block_tile_memory<kMaxBlockSize>& memory, CONVLAB_CALL_SITE) {
  convlab::emulation::block_barrier("this_thread_block", false, site);
  if (detail::block_rank() == 0) {
    convlab::emulation::observe_object(&memory, sizeof memory);
    for (unsigned tiles = 1; tiles < std::size(memory.barriers); tiles *= 2)
      for (unsigned i = 0; i < tiles; ++i)
        init(&memory.barriers[tiles + i], memory.kLargestBlock / tiles);
  }
  convlab::emulation::block_barrier("this_thread_block", false, site);
  return thread_block(&memory);
}
inline grid_group this_grid() {
  return {};
}
/// The lanes of the warp that are here together.
inline coalesced_group coalesced_threads(CONVLAB_CALL_SITE) {
  return coalesced_group(convlab::emulation::converged_lanes(site));
}
/// The calling thread alone.
inline thread_block_tile<1> this_thread() {
  return {1U << convlab::emulation::lane_id(), 0, 1};
}

template <unsigned kSize>
thread_block_tile<kSize, thread_block> tiled_partition(const thread_block& block) {
  return {block, detail::block_rank() / kSize, (detail::block_size() + kSize - 1) / kSize};
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
  for (unsigned rank = first; rank < first + size && rank < parent.size(); ++rank)
    mask |= 1U << parent.lane_of(rank);
  return coalesced_group(mask);
}
/// @param size  a power of two up to 32
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  const bool is_block = parent.mask() == 0;
  return tiled_partition(coalesced_group(is_block ? 0xffffffffU : parent.mask()), size);
}

/// The members of the parent with an equal label.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& parent, Label label, CONVLAB_CALL_SITE) {
  return coalesced_group(__match_any_sync(parent.mask(), label, site));
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

/// One thread of the group calls the function.
template <typename Group, typename Function, typename... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(std::forward<Arguments>(arguments)...);
}

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
