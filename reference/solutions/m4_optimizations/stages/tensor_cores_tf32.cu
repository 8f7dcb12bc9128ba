// Tensor cores, TF32.
//
// Idea     TF32 keeps the range of a float and 10 bits of its fraction. A tensor core multiplies it
//          at half the rate of half precision, 8 deep instead of 16: 16×16×8. Two operations of
//          depth 8 replace one of depth 16 in tensor-cores-fp16, and no input is stored twice: the
//          window of 16 columns is two chunks of 8, and the second chunk of a window is the first
//          one of its neighbour.
// Picture  one row p of the kernel and one channel, K = 7; chunk i holds columns 8·i to 8·i + 7:
//
//              weights, 8 rows for each map
//              w0 w1 w2 w3 w4 w5 w6 0        0  0  0  0  0  0 0 0
//              0  w0 w1 w2 w3 w4 w5 w6       0  0  0  0  0  0 0 0
//              …                        ×    …                       ×
//              0  0  0  0  0  0  0  w0       w1 w2 w3 w4 w5 w6 0 0
//                  chunk 0, chunk 1, …  +        chunk 1, chunk 2, …
//
// Cost     one store for an input; twice the bytes of halves in shared memory and in fragments, and
//          half the rate. A row has one chunk more than groups of outputs, and that chunk is
//          multiplied, too: 1/11 of the work at 80 columns, 1/6 at 34.
// Expect   slower than half precision if products are the limit, as fast if memory is. TF32 has the
//          range of single precision, so nothing overflows.
// Code     the loops are in ../wmma_strips.cuh, because tensor-cores-fp16 has the same loops
// Run      build/bin/m4 1000 --stage tensor-cores-tf32 --solution reference

#include <cuda_runtime.h>
#include <mma.h>

#include <type_traits>

#include "reference/solutions/m4_optimizations/wmma_strips.cuh"

namespace {

using namespace convlab::tensor_cores;
using convlab::ConvShape;

constexpr int kDepth = 8;  // of one operation: a chunk

// Two chunks of 8 floats for each window; neighbouring windows share one.
struct Tf32Chunks : Tf32Operand {
  // chunks (channels, input_rows, groups + 1, 8)
  static __device__ void load_input(float* chunks, const float* image, const ConvShape& shape,
                                    int first_row, int input_rows, int pitch) {
    constexpr int kPairs = kDepth / 2;
    load_strip<kThreads>(
        image, shape, first_row, input_rows, pitch * kPairs, [=](const auto& at, float2 pair) {
          float* chunk =
              chunks + ((at.channel * input_rows + at.y) * pitch + at.x / kPairs) * kDepth;
          *reinterpret_cast<float2*>(chunk + at.x % kPairs * 2) =
              make_float2(rounded(pair.x), rounded(pair.y));
        });
  }

  // Loads a fragment from rows of 8 floats in shared memory. For wmma::load_matrix_sync with TF32
  // the compiler does not recognise the pointer as one to shared memory and generates the load for
  // any memory: 4.19 ms for the second layer on an H200. The same instruction with `.shared` takes
  // 2.94 ms.
  template <class Use, class Precision, class Layout>
  static __device__ void load(
      nvcuda::wmma::fragment<Use, kTile, kTile, kDepth, Precision, Layout>& fragment,
      const float* from) {
#if !CONVLAB_EMULATED && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned bits[4];
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(from));
    if constexpr (std::is_same_v<Use, nvcuda::wmma::matrix_a>) {
      asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], 8;"
                   : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
                   : "r"(address)
                   : "memory");
    } else {
      asm volatile("wmma.load.b.sync.aligned.col.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], 8;"
                   : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
                   : "r"(address)
                   : "memory");
    }
    for (int i = 0; i < 4; ++i) fragment.x[i] = __uint_as_float(bits[i]);
#else
    nvcuda::wmma::load_matrix_sync(fragment, from, kDepth);
#endif
  }
};

class TensorCoresTf32 final : public WmmaStrips<Tf32Chunks> {
  // 4 maps in a block: the weights take twice the space of halves.
  void choose() override { plan_tiles<2, 4>(); }

  void launch_product(float* output, const float* input, const float* weights,
                      const ConvShape& shape) override {
    launch_any_shape<Tf32Operand, 16, 16>(output, input, weights, shape);
  }
};

const convlab::LadderStage<TensorCoresTf32> stage("tensor-cores-tf32", "Tensor cores (WMMA), TF32");

}  // namespace
