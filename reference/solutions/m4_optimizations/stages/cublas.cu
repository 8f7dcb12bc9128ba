// The library's matrix product.
//
// Idea     im2col-gemm with NVIDIA's matrix product. It is a baseline, not an exercise in kernels:
//          our product will not beat cuBLAS. How much does cuBLAS gain for a shape that libraries
//          are not tuned for?
// Picture  for each image; all images of a slice in one call (strided batched):
//
//              weights (maps, taps)  ×  unrolled (taps, pixels)  =  output (maps, pixels)
//
//          cuBLAS stores matrices column by column, as Fortran does. To cuBLAS a row-major matrix
//          looks like its transpose: ask for unrolledᵀ · weightsᵀ = outputᵀ.
// Cost     the unrolled matrix is written and read once, K·K times the input: 12.5 GB each way for
//          the first layer of the default network at 10 000 images. That alone takes 6 ms at 4.3
//          TB/s.
// Expect   at least the time to move the unrolled matrix, however good the product is.
// Run      build/bin/m4 1000 --stage cublas --solution reference       (a GPU and cuBLAS)

#include <cuda_runtime.h>

#include "common/stage/stage.hpp"

#ifdef CONVLAB_HAS_CUBLAS
#include <cublas_v2.h>

#include <cstdint>
#include <string>

#include "common/base/error.hpp"
#include "reference/solutions/m4_optimizations/unrolled_input.cuh"

namespace {

using convlab::ConvShape;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw convlab::EnvironmentError(std::string("cuBLAS: ") + call + " failed with status " +
                                  std::to_string(static_cast<int>(status)) + ".");
}

// unrolled_ (images, taps, pixels)
class Cublas final : public convlab::UnrollingConvolution<true> {
 public:
  ~Cublas() override { release(); }

 private:
  void prepare() override {
    UnrollingConvolution::prepare();
    release_handle();
    check(cublasCreate(&handle_), "cublasCreate");
    // Otherwise cuBLAS may use TF32.
    check(cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    warm_up();
  }

  void release() override {
    UnrollingConvolution::release();
    release_handle();
  }

  void release_handle() {
    if (handle_ != nullptr) cublasDestroy(handle_);
    handle_ = nullptr;
  }

  // The first product of a process loads the library's kernels, which takes about 100 ms. That is
  // not part of the convolution, so it happens here, with zeros.
  void warm_up() {
    ConvShape slice = shape();
    slice.batch = images_at_once_;
    convlab::DeviceBuffer<float> zeros(slice.weights_size());
    convlab::DeviceBuffer<float> output(slice.output_size());
    CONVLAB_CUDA_CHECK(cudaMemset(zeros.data(), 0, zeros.bytes()));
    CONVLAB_CUDA_CHECK(cudaMemset(unrolled_.data(), 0, unrolled_.bytes()));
    multiply(output.data(), zeros.data(), slice);
    CONVLAB_CUDA_CHECK(cudaDeviceSynchronize());
  }

  // output = weights · unrolled_, for each image of the slice
  void multiply(float* output, const float* weights, const ConvShape& slice) override {
    const int pixels = slice.out_height() * slice.out_width();
    const int taps = slice.taps();
    const float one = 1.0f;
    const float zero = 0.0f;
    const std::int64_t unrolled_image = std::int64_t{taps} * pixels;
    check(cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, pixels, slice.out_channels,
                                    taps, &one, unrolled_.data(), pixels, unrolled_image, weights,
                                    taps, 0, &zero, output, pixels, slice.output_image_size(),
                                    slice.batch),
          "cublasSgemmStridedBatched");
  }

  cublasHandle_t handle_ = nullptr;
};

const convlab::LadderStage<Cublas> stage("cublas", "Library: cuBLAS on the unrolled input");

}  // namespace

#else

namespace {

const convlab::StageLeftOut stage("cublas",
                                  "it calls NVIDIA's library cuBLAS, which needs a GPU and is part "
                                  "of the CUDA Toolkit; this program was built without it");

}  // namespace

#endif
