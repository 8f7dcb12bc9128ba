#pragma once

// Stands in for cuDNN's header, as cublas_v2.h does for cuBLAS's: types for files that include it
// and call nothing.

#include <cuda_runtime.h>

// NOLINTBEGIN(readability-identifier-naming): the names are cuDNN's

struct cudnnContext;
using cudnnHandle_t = cudnnContext*;
enum cudnnStatus_t { CUDNN_STATUS_SUCCESS = 0, CUDNN_STATUS_NOT_INITIALIZED = 1 };
extern "C" {
const char* cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
}

// NOLINTEND(readability-identifier-naming)
