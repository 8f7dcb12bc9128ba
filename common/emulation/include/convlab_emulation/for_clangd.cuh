// What clangd reads before a .cu file (milestones/CMakeLists.txt writes its command): the emulated
// CUDA for a compiler that knows <<< >>> itself and asks of each function where it may run.
#pragma once
#pragma clang system_header
// Not clang's own operator new of a device: std::vector would ask for it.
#define __device__ __attribute__((device)) __attribute__((enable_if(false, "")))
#define __host__ __attribute__((host))
#include <new>
#undef __device__
#define __device__ __attribute__((device))
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>
#pragma clang force_cuda_host_device begin
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#pragma clang force_cuda_host_device end
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                                     cudaStream_t stream = nullptr);
unsigned cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared = 0,
                           cudaStream_t stream = nullptr);
