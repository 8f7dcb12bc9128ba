// Cooperative groups: block, tiles, coalesced threads, partitions, reductions, scans.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

namespace cg = cooperative_groups;

__device__ unsigned chain(unsigned a, unsigned b, unsigned c = 0, unsigned d = 0) {
  return ((a * 31U + b) * 31U + c) * 31U + d;
}

__global__ void places(unsigned* results) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::grid_group grid = cg::this_grid();
  const auto rank = static_cast<unsigned>(grid.thread_rank());
  results[rank] =
      chain(block.thread_rank(), block.size(),
            block.group_index().x + 100 * block.group_index().y + 7 * block.thread_index().y,
            static_cast<unsigned>(grid.size()) + block.group_dim().z);
}

template <unsigned kSize>
__global__ void tiles(unsigned* results) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<kSize>(block);
  const unsigned value = scramble(block.thread_rank());
  unsigned result =
      chain(tile.thread_rank(), tile.size(), tile.meta_group_rank(), tile.meta_group_size());
  result = chain(result, tile.shfl(value, 1 % kSize), tile.shfl_xor(value, kSize / 2));
  result = chain(result, tile.shfl_up(value, 1), tile.shfl_down(value, 2));
  result = chain(result, tile.ballot(value % 3 == 0), tile.any(value % 5 == 0) != 0 ? 1U : 0U,
                 tile.all(value % 2 == 0) != 0 ? 1U : 0U);
  result = chain(result, tile.match_any(value % 4));
  tile.sync();
  result = chain(result, cg::reduce(tile, value, cg::plus<unsigned>()),
                 cg::reduce(tile, static_cast<int>(value), cg::less<int>()),
                 cg::reduce(tile, value, cg::bit_xor<unsigned>()));
  result = chain(result, cg::inclusive_scan(tile, value), cg::exclusive_scan(tile, value),
                 cg::inclusive_scan(tile, value, cg::greater<unsigned>()));
  results[block.thread_rank()] = result;
}

template <unsigned kSize>
__global__ void wide_tiles(unsigned* results) {
  __shared__ cg::block_tile_memory<256> memory;
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<kSize>(block);
  unsigned value = scramble(block.thread_rank());
  unsigned result =
      chain(tile.thread_rank(), tile.size(), tile.meta_group_rank(), tile.meta_group_size());
  for (unsigned round = 0; round < 3 + tile.meta_group_rank(); ++round) {
    value = cg::reduce(tile, value + round, cg::plus<unsigned>()) + tile.thread_rank();
    result = chain(result, tile.shfl(value, 40), tile.any(value % 64 == 0) != 0 ? 1U : 0U,
                   tile.all(value % 64 == 0) != 0 ? 1U : 0U);
    tile.sync();
  }
  results[block.thread_rank()] = result;
}

__device__ float sum_of_tile(cg::thread_block_tile<16> tile, float value) {
  for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) {
    value += tile.shfl_down(value, offset);
  }
  return tile.shfl(value, 0);
}

__global__ void nested_tiles(unsigned* results) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto half_warp = cg::tiled_partition<16>(warp);
  const float sum = sum_of_tile(half_warp, static_cast<float>(block.thread_rank()));
  const cg::thread_group dynamic = cg::tiled_partition(block, 8);
  results[block.thread_rank()] =
      chain(static_cast<unsigned>(sum), half_warp.meta_group_rank(), half_warp.meta_group_size(),
            dynamic.thread_rank() + 100 * dynamic.size());
}

__global__ void coalesced(unsigned* results) {
  const unsigned rank = threadIdx.x;
  const unsigned value = scramble(rank);
  unsigned result = 0;
  if (value % 3 != 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    result = chain(active.thread_rank(), active.size());
    result =
        chain(result, active.shfl(value, 0), active.shfl_up(value, 1), active.shfl_down(value, 1));
    result = chain(result, active.ballot(value % 2 == 0),
                   cg::reduce(active, value, cg::plus<unsigned>()));
    active.sync();
  }
  results[rank] = result;
}

__global__ void partitions(unsigned* results) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned value = scramble(warp.thread_rank());
  const auto same = cg::labeled_partition(warp, value % 4);
  const auto parity = cg::binary_partition(warp, value % 2 == 0);
  results[warp.thread_rank()] =
      chain(same.thread_rank(), same.size(), parity.thread_rank(),
            parity.size() + cg::reduce(same, value, cg::plus<unsigned>()));
}

/// Each round reads what other blocks wrote in the one before.
__global__ void rounds(unsigned* a, unsigned* b, unsigned count) {
  const cg::grid_group grid = cg::this_grid();
  const auto first = static_cast<unsigned>(grid.thread_rank());
  const auto step = static_cast<unsigned>(grid.size());
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = first; i < count; i += step) b[i] = a[(i * 7 + 1) % count] + i;
    grid.sync();
    for (unsigned i = first; i < count; i += step) a[i] = b[count - 1 - i];
    cg::sync(grid);
  }
}

constexpr const char* kGroup = "cooperative groups";

const Register kWholeGrid{
    kGroup, "the whole grid", [] {
      unsigned count = 5000;
      std::vector<unsigned> values;
      for (unsigned i = 0; i < count; ++i) values.push_back(mix(i));
      DeviceArray<unsigned> a(values);
      DeviceArray<unsigned> b(count);
      unsigned* pointers[] = {a.data(), b.data()};
      void* arguments[] = {&pointers[0], &pointers[1], &count};
      require(cudaLaunchCooperativeKernel((void*)rounds, dim3(20), dim3(96), arguments),
              "cudaLaunchCooperativeKernel");
      return a.bits();
    }};

const Register kPlaces{kGroup, "places in block and grid",
                       [] { return results_of(places, dim3(3, 2), dim3(8, 6, 2), 6 * 96); }};

template <unsigned kSize>
Bits run_tiles() {
  return results_of(tiles<kSize>, 1, 128, 128);
}
const Register kTiles32{kGroup, "tiles of 32 threads", &run_tiles<32>};
const Register kTiles16{kGroup, "tiles of 16 threads", &run_tiles<16>};
const Register kTiles8{kGroup, "tiles of 8 threads", &run_tiles<8>};
const Register kTiles4{kGroup, "tiles of 4 threads", &run_tiles<4>};

const Register kWide64{kGroup, "tiles of 64 threads",
                       [] { return results_of(wide_tiles<64>, 1, 256, 256); }};
const Register kWide128{kGroup, "tiles of 128 threads",
                        [] { return results_of(wide_tiles<128>, 1, 256, 256); }};

const Register kNested{kGroup, "tiles of tiles, groups of a size known at run time",
                       [] { return results_of(nested_tiles, 1, 128, 128); }};

const Register kCoalesced{kGroup, "coalesced threads",
                          [] { return results_of(coalesced, 1, 64, 64); }};

const Register kPartitions{kGroup, "labelled and binary partitions",
                           [] { return results_of(partitions, 1, 32, 32); }};

}  // namespace
}  // namespace convlab::features
