// Tensor cores: every fragment shape, element type and layout, with numbers that tell one way to
// add from another.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <type_traits>
#include <vector>

#include "common/emulation/tests/features/sweep.hpp"
#include "common/emulation/tests/features/telling_numbers.hpp"

namespace convlab::features {
namespace {

namespace wmma = nvcuda::wmma;

/// What a fragment of T lies in memory as.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, wmma::precision::tf32>, float, T>;

template <int kM, int kN, int kK, class T, class LayoutA, class LayoutB, class C, class D>
__global__ void multiply(const Stored<T>* a, const Stored<T>* b, const C* c, D* d, int lda, int ldb,
                         int ldc, wmma::layout_t layout) {
  wmma::fragment<wmma::matrix_a, kM, kN, kK, T, LayoutA> fragment_a;
  wmma::fragment<wmma::matrix_b, kM, kN, kK, T, LayoutB> fragment_b;
  wmma::fragment<wmma::accumulator, kM, kN, kK, C> fragment_c;
  wmma::fragment<wmma::accumulator, kM, kN, kK, D> fragment_d;
  wmma::load_matrix_sync(fragment_a, a, lda);
  wmma::load_matrix_sync(fragment_b, b, ldb);
  wmma::load_matrix_sync(fragment_c, c, ldc, layout);
  wmma::mma_sync(fragment_d, fragment_a, fragment_b, fragment_c);
  wmma::store_matrix_sync(d, fragment_d, ldc, layout);
}

/// Bytes, or numbers of one kind (telling_numbers.hpp).
template <class T>
std::vector<T> matrix_of(std::size_t count, unsigned seed, Numbers kind = Numbers::kUniform) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>)
      values.push_back(static_cast<T>(mix(static_cast<std::uint32_t>(i) + (seed << 20U))));
    else
      values.push_back(static_cast<T>(telling_number(i, seed, kind, sizeof(T) == 2)));
  }
  return values;
}

void append(Bits& bits, const Bits& more) {
  bits.insert(bits.end(), more.begin(), more.end());
}

template <int kM, int kN, int kK, class T, class LayoutA, class LayoutB, class C, class D>
Bits product(wmma::layout_t layout, Numbers kind) {
  const auto padded = [](int line) { return (line + 31) / 16 * 16; };
  const int lda = padded(std::is_same_v<LayoutA, wmma::row_major> ? kK : kM);
  const int ldb = padded(std::is_same_v<LayoutB, wmma::row_major> ? kN : kK);
  const int ldc = padded(layout == wmma::mem_row_major ? kN : kM);
  DeviceArray<Stored<T>> a(matrix_of<Stored<T>>(32 * 64, 1, kind));
  DeviceArray<Stored<T>> b(matrix_of<Stored<T>>(32 * 64, 2, kind));
  DeviceArray<C> c(matrix_of<C>(32 * 64, 3, kind));
  DeviceArray<D> d(32 * 64);
  multiply<kM, kN, kK, T, LayoutA, LayoutB, C, D>
      <<<1, 32>>>(a.data(), b.data(), c.data(), d.data(), lda, ldb, ldc, layout);
  return d.bits();
}

/// Products in four combinations of layouts, each with another kind of numbers.
template <int kM, int kN, int kK, class T, class C, class D>
Bits products() {
  using Row = wmma::row_major;
  using Column = wmma::col_major;
  Bits bits = product<kM, kN, kK, T, Row, Row, C, D>(wmma::mem_row_major, Numbers::kUniform);
  append(bits, product<kM, kN, kK, T, Row, Column, C, D>(wmma::mem_col_major, Numbers::kWide));
  append(bits, product<kM, kN, kK, T, Column, Row, C, D>(wmma::mem_col_major, Numbers::kSubnormal));
  append(bits,
         product<kM, kN, kK, T, Column, Column, C, D>(wmma::mem_row_major, Numbers::kCancelling));
  return bits;
}

using Tf32 = wmma::precision::tf32;
using Bfloat16 = __nv_bfloat16;
constexpr const char* kGroup = "tensor cores";

const Register kHalf1{kGroup, "16x16x16 half, float sums",
                      &products<16, 16, 16, half, float, float>};
const Register kHalf2{kGroup, "32x8x16 half, float sums", &products<32, 8, 16, half, float, float>};
const Register kHalf3{kGroup, "8x32x16 half, float sums", &products<8, 32, 16, half, float, float>};
const Register kHalf4{kGroup, "16x16x16 half, half sums", &products<16, 16, 16, half, half, half>};
const Register kHalf5{kGroup, "32x8x16 half, half sums", &products<32, 8, 16, half, half, half>};
const Register kHalf6{kGroup, "8x32x16 half, half sums", &products<8, 32, 16, half, half, half>};
const Register kHalf7{kGroup, "16x16x16 half, from half to float sums",
                      &products<16, 16, 16, half, half, float>};
const Register kHalf8{kGroup, "16x16x16 half, from float to half sums",
                      &products<16, 16, 16, half, float, half>};
const Register kBfloat1{kGroup, "16x16x16 bfloat16", &products<16, 16, 16, Bfloat16, float, float>};
const Register kBfloat2{kGroup, "32x8x16 bfloat16", &products<32, 8, 16, Bfloat16, float, float>};
const Register kBfloat3{kGroup, "8x32x16 bfloat16", &products<8, 32, 16, Bfloat16, float, float>};
const Register kTf32{kGroup, "16x16x8 TF32", &products<16, 16, 8, Tf32, float, float>};
const Register kByte1{kGroup, "16x16x16 signed char", &products<16, 16, 16, signed char, int, int>};
const Register kByte2{kGroup, "32x8x16 signed char", &products<32, 8, 16, signed char, int, int>};
const Register kByte3{kGroup, "8x32x16 signed char", &products<8, 32, 16, signed char, int, int>};
const Register kByte4{kGroup, "16x16x16 unsigned char",
                      &products<16, 16, 16, unsigned char, int, int>};
const Register kDouble{kGroup, "8x8x4 double", &products<8, 8, 4, double, double, double>};

/// A half product from shared memory, with work done on the elements of the accumulator.
__global__ void scale_and_clip(const half* a, const half* b, float* d) {
  __shared__ __align__(32) half tile_a[16 * 32];
  __shared__ __align__(32) half tile_b[32 * 16];
  for (int i = static_cast<int>(threadIdx.x); i < 16 * 32; i += static_cast<int>(blockDim.x)) {
    tile_a[i] = a[i];
    tile_b[i] = b[i];
  }
  __syncthreads();
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.5F);
  for (int k = 0; k < 32; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> part_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> part_b;
    wmma::load_matrix_sync(part_a, tile_a + k, 32);
    wmma::load_matrix_sync(part_b, tile_b + k * 16, 16);
    for (int i = 0; i < part_a.num_elements; ++i) part_a.x[i] = part_a.x[i] * __float2half(2.0F);
    wmma::mma_sync(sum, part_a, part_b, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = fmaxf(sum.x[i], 0.0F);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  wmma::store_matrix_sync(d + warp * 256, sum, 16, wmma::mem_row_major);
}

__global__ void convert_to_tf32(float* results, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  unsigned bits = scramble(static_cast<unsigned>(i));
  if (i % 3 != 0) bits = (bits & 0xffffe000U) + (i % 3 == 1 ? 0x1000U : 0x0fffU);
  results[i] = wmma::__float_to_tf32(__uint_as_float(bits));
}

/// Operands with bits that TF32 does not have: the hardware ignores them.
__global__ void multiply_unconverted(float* d) {
  using TF32 = wmma::precision::tf32;
  wmma::fragment<wmma::matrix_a, 16, 16, 8, TF32, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, TF32, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  __shared__ __align__(32) float ones[16 * 8];
  __shared__ __align__(32) float fine[16 * 8];
  for (int i = static_cast<int>(threadIdx.x); i < 16 * 8; i += 32) {
    // One entry in each row of A and column of B, so that no sum is rounded.
    ones[i] = i % 8 == i / 8 % 8 ? 1.0F : 0.0F;
    fine[i] = __uint_as_float(0x3f800000U | scramble(static_cast<unsigned>(i)) >> 9);
  }
  __syncwarp();
  wmma::load_matrix_sync(a, fine, 8);
  wmma::load_matrix_sync(b, ones, 8);
  wmma::fill_fragment(sum, 0.0F);
  wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

const Register kElements{kGroup, "work on the elements of fragments", [] {
                           DeviceArray<half> a(matrix_of<half>(16 * 32, 4));
                           DeviceArray<half> b(matrix_of<half>(32 * 16, 5));
                           DeviceArray<float> d(2 * 256);
                           scale_and_clip<<<1, 64>>>(a.data(), b.data(), d.data());
                           return d.bits();
                         }};

const Register kConvert{kGroup, "__float_to_tf32",
                        [] { return results_of(convert_to_tf32, 256, 256, 1 << 16, 1 << 16); }};

const Register kUnconverted{kGroup, "TF32 operands that were not converted",
                            [] { return results_of(multiply_unconverted, 1, 32, 256); }};

template <class Fragment, class T>
__global__ void show_lanes(const T* matrix, int leading, unsigned* lanes) {
  Fragment fragment;
  wmma::load_matrix_sync(fragment, matrix, leading);
  for (int i = 0; i < fragment.num_elements; ++i) {
    lanes[static_cast<int>(threadIdx.x) * fragment.num_elements + i] =
        static_cast<unsigned>(static_cast<float>(fragment.x[i]));
  }
}

/// The place of each element of the matrix. CUDA does not promise it; see fragment_layout.hpp.
template <class Use, int kM, int kN, int kK, class T>
Bits lanes_of() {
  using Fragment = wmma::fragment<Use, kM, kN, kK, T, wmma::row_major>;
  const int rows = std::is_same_v<Use, wmma::matrix_a> ? kM : kK;
  const int columns = std::is_same_v<Use, wmma::matrix_a> ? kK : kN;
  std::vector<Stored<T>> values;
  for (int i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<Stored<T>>(static_cast<float>(i)));
  }
  DeviceArray<Stored<T>> matrix(values);
  DeviceArray<unsigned> lanes(32 * Fragment::num_elements);
  show_lanes<Fragment><<<1, 32>>>(matrix.data(), columns, lanes.data());
  return lanes.bits();
}

using A = wmma::matrix_a;
using B = wmma::matrix_b;
const Register kLanes1{kGroup, "lanes of A, 16x16x16 half", &lanes_of<A, 16, 16, 16, half>};
const Register kLanes2{kGroup, "lanes of B, 16x16x16 half", &lanes_of<B, 16, 16, 16, half>};
const Register kLanes3{kGroup, "lanes of A, 32x8x16 half", &lanes_of<A, 32, 8, 16, half>};
const Register kLanes4{kGroup, "lanes of B, 32x8x16 half", &lanes_of<B, 32, 8, 16, half>};
const Register kLanes5{kGroup, "lanes of A, 8x32x16 half", &lanes_of<A, 8, 32, 16, half>};
const Register kLanes6{kGroup, "lanes of B, 8x32x16 half", &lanes_of<B, 8, 32, 16, half>};
const Register kLanes7{kGroup, "lanes of A, 16x16x8 TF32", &lanes_of<A, 16, 16, 8, Tf32>};
const Register kLanes8{kGroup, "lanes of B, 16x16x8 TF32", &lanes_of<B, 16, 16, 8, Tf32>};
const Register kLanes9{kGroup, "lanes of A, 16x16x16 bfloat16", &lanes_of<A, 16, 16, 16, Bfloat16>};

}  // namespace
}  // namespace convlab::features
