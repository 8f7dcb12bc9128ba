#pragma once

// Stands in for cuBLAS's header: files include it, keep a handle, and never call.

#include <cuda_runtime.h>

// NOLINTBEGIN(readability-identifier-naming): the names are cuBLAS's

struct cublasContext;
using cublasHandle_t = cublasContext*;

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;

// In a program of one's own a call is an error of the compiler; in a submission the grader finds it
// among the symbols.
#ifdef CONVLAB_RUN
#define CONVLAB_NO_CALL \
  __attribute__((error("this library needs a GPU and is not emulated: write a kernel")))
#else
#define CONVLAB_NO_CALL
#endif
#define CONVLAB_NEEDS_GPU(Result, name) extern "C" CONVLAB_NO_CALL Result name(...)
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasCreate_v2);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasDestroy_v2);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasSetStream_v2);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasSetMathMode);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasSetPointerMode_v2);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasSgemm_v2);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasSgemmStridedBatched);
CONVLAB_NEEDS_GPU(cublasStatus_t, cublasGemmEx);
CONVLAB_NEEDS_GPU(const char*, cublasGetStatusString);

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSgemm cublasSgemm_v2

// NOLINTEND(readability-identifier-naming)
