// Inline PTX: the instructions of a whole warp, asynchronous copies and conversions.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/emulation/include/convlab_emulation/async_copy.hpp"
#include "common/emulation/include/convlab_emulation/fragment_layout.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/include/convlab_emulation/ptx.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation::ptx {
namespace {

/// A is 16 × kK, B kK × 8, C and D 16 × 8. Registers hold a fragment's elements in their order.
template <int kK, class T, class Sum>
void multiply(const Register<4>* d, const std::uint32_t* a, const std::uint32_t* b,
              const std::uint32_t* c, CallSite site) {
  std::uint32_t words[sizeof(Sum)];  // for four sums of each lane
  const FragmentProduct product{site, a, b, c, words, false};
  warp_collective({&multiply_fragments<16, 8, kK, T, Sum, Sum>,
                   kK == 16 ? "mma.sync.m16n8k16" : "mma.sync.m16n8k8"},
                  kFullMask, &product, nullptr, site);
  for (const std::uint32_t& word : words) d[&word - words] = word;
}

constexpr int kMatrixSize = 8;
constexpr std::size_t kRowBytes = kMatrixSize * sizeof(std::uint16_t);

template <int kCount, bool kTransposed>
void load_matrices_of(WarpExchange& exchange) {
  const CallSite site = exchange.input<MatrixRows>(*exchange.lanes().begin()).site;
  require_all_lanes(exchange, "ldmatrix", site);
  for (int matrix = 0; matrix < kCount; ++matrix) {
    std::uint16_t elements[kMatrixSize][kMatrixSize];
    for (int row = 0; row < kMatrixSize; ++row) {
      const auto& posted = exchange.input<MatrixRows>(matrix * kMatrixSize + row);
      check_alignment("ldmatrix", posted.row, kRowBytes, site);
      const unsigned char* const from = in_shared("ldmatrix", posted.row, kRowBytes, site);
      check_access(from, kRowBytes, false, site);
      observe_warp(from, kRowBytes, kRowBytes, false, site);
      std::memcpy(elements[row], from, kRowBytes);
    }
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const int outer = lane / 4;
      const int inner = lane % 4 * 2;
      const std::uint32_t low = kTransposed ? elements[inner][outer] : elements[outer][inner];
      const std::uint32_t high =
          kTransposed ? elements[inner + 1][outer] : elements[outer][inner + 1];
      exchange.input<MatrixRows>(lane).words[matrix] = high << 16U | low;
    }
  }
}

}  // namespace

unsigned char* in_shared(const char* name, std::uint64_t address, std::size_t bytes,
                         CallSite site) {
  const std::uint64_t size = current_shared_end - current_shared_begin;
  if (address > size || bytes > size - address) {
    fail_kernel(KernelFault::kInvalidAddressSpace, site,
                "%s: 0x%llx is no address in the block's %llu bytes of shared memory; instructions "
                "with .shared take what __cvta_generic_to_shared(pointer) returns",
                name, static_cast<unsigned long long>(address),
                static_cast<unsigned long long>(size));
  }
  return reinterpret_cast<unsigned char*>(current_shared_begin + address);
}

void mma_of_kind(int kind, const Register<4>* d, const std::uint32_t* a, const std::uint32_t* b,
                 const std::uint32_t* c, CallSite site) {
  static constexpr decltype(&multiply<16, __half, float>) kProducts[] = {
      &multiply<16, __half, float>, &multiply<16, __half, __half>, &multiply<8, __half, float>,
      &multiply<8, Tf32, float>, &multiply<16, __nv_bfloat16, float>};
  kProducts[kind](d, a, b, c, site);
}

void load_matrices_all(int count, bool transposed, const MatrixRows& rows) {
  static constexpr WarpFunction kFunctions[2][3] = {
      {&load_matrices_of<1, false>, &load_matrices_of<2, false>, &load_matrices_of<4, false>},
      {&load_matrices_of<1, true>, &load_matrices_of<2, true>, &load_matrices_of<4, true>}};
  warp_collective({kFunctions[transposed ? 1 : 0][count / 2], "ldmatrix"}, kFullMask, &rows,
                  nullptr, rows.site);
}

template <bool kAroundL1>
void copy(Address to, Address from, std::size_t bytes, std::size_t source_bytes, CallSite site) {
  if (kAroundL1 && bytes != 16)
    fail_thread(FaultKind::kCopySize, KernelFault::kIllegalInstruction, site,
                "cp.async.cg copies 16 bytes; 4 and 8 are for cp.async.ca");
  if (source_bytes == kAllBytes) source_bytes = bytes;
  begin_async_copy("cp.async", in_shared("cp.async", to.value, bytes, site),
                   reinterpret_cast<const void*>(from.value), bytes, bytes - source_bytes, site);
}
template void copy<false>(Address, Address, std::size_t, std::size_t, CallSite);
template void copy<true>(Address, Address, std::size_t, std::size_t, CallSite);

void copy_commit() {
  async_copies().commit();
}

void copy_wait(std::size_t unfinished) {
  async_copies().wait_prior(unfinished);
}

void copy_wait_all() {
  async_copies().commit();
  async_copies().wait_prior(0);
}

void convert_to_half2(const Results<1>& result, const Words<1>& high, const Words<1>& low) {
  const __half2 both =
      __floats2half2_rn(std::bit_cast<float>(low[0]), std::bit_cast<float>(high[0]));
  std::uint32_t bits;
  std::memcpy(&bits, &both, sizeof bits);
  result[0] = bits;
}

std::uint32_t multiprocessor() {
  return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % multiprocessors();
}

std::uint32_t multiprocessors() {
  int count = 1;
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
  return static_cast<std::uint32_t>(count);
}

std::uint64_t shared_offset(const void* pointer) {
  // An address elsewhere gives an offset beyond the end, which the instruction reports.
  return reinterpret_cast<std::uintptr_t>(pointer) - current_shared_begin;
}

void check_alignment(const char* name, std::uint64_t address, std::size_t bytes, CallSite site) {
  if (address % bytes == 0) return;
  fail_kernel(KernelFault::kMisalignedAddress, site,
              "%s: the address 0x%llx is not a multiple of %zu bytes", name,
              static_cast<unsigned long long>(address), bytes);
}

void come_to_barrier(std::uint32_t number, std::uint32_t threads, bool waits, CallSite site) {
  const unsigned all = blockDim.x * blockDim.y * blockDim.z;
  if (threads == 0) threads = all;
  if (number == 0 && threads == all && waits) return block_barrier("bar.sync", false, site);
  struct Barriers {
    std::uint64_t block = 0;
    std::uint32_t arrived[16] = {};
    std::uint32_t waiting[16] = {};  ///< warps, by bits
    bool has_arrivals[16] = {};      ///< of threads that go on
  };
  static thread_local Barriers barriers;
  if (barriers.block != current_block_number) barriers = {.block = current_block_number};
  if (number >= std::size(barriers.arrived) || threads % kWarpSize != 0)
    fail_kernel(KernelFault::kIllegalInstruction, site,
                "bar.sync %u, %u: a block has barriers 0 to 15, for whole warps of 32 threads",
                number, threads);
  std::uint32_t& arrived = barriers.arrived[number];
  if (waits) {
    barriers.waiting[number] |= 1U << thread_rank() / kWarpSize;
  } else {
    barriers.has_arrivals[number] = true;
    observe_release(&arrived);
  }
  if (++arrived == threads) {
    arrived = 0;
    observe_part(std::exchange(barriers.waiting[number], 0U));
    wake_sleepers(&arrived);
  } else if (waits) {
    sleep_until_woken("bar.sync", &arrived, site);
  }
  if (waits && barriers.has_arrivals[number]) observe_acquire(&arrived);
}

}  // namespace convlab::emulation::ptx
