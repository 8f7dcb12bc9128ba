// Stores the last CUDA call of a custom submission that failed on a GPU, for files that check their
// calls, print the error and end the program: the grader then reports that call instead of the
// exit.
//
// objcopy renames the calls of the file's object (common/custom_submission/recorded_calls), so they
// come here first. Other code's calls do not. An emulated device stores its faults itself.

#include <cuda_runtime.h>

#include <string>

#include "common/base/fault_record.hpp"
#include "common/device/recorded_allocations.hpp"

namespace {

using convlab::FaultKind;
using convlab::FaultRecord;

// This object is part of each program with the recording calls.
[[maybe_unused]] const bool recorded = convlab::allocations_are_recorded() = true;

FaultKind kind_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return FaultKind::kOutOfMemory;
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
      return FaultKind::kLaunch;
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
      return FaultKind::kDeviceMemory;
    default:
      return FaultKind::kException;
  }
}

cudaError_t noted(const char* call, cudaError_t error) {
  if (error == cudaSuccess || error == cudaErrorNotReady) return error;
  FaultRecord record;
  record.kind = kind_of(error);
  record.call = call;
  record.text = std::string(call) + " answered: " + cudaGetErrorString(error) + " (" +
                cudaGetErrorName(error) + ")";
  convlab::failed_call() = record;
  return error;
}

std::string text_of(dim3 size) {
  return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
         std::to_string(size.z) + ")";
}

cudaError_t noted_launch(dim3 grid, dim3 block, std::size_t shared, cudaError_t error) {
  noted("a launch", error);
  if (error != cudaSuccess && convlab::failed_call()) {
    FaultRecord& record = *convlab::failed_call();
    // CUDA 13 calls these an invalid argument.
    record.kind = FaultKind::kLaunch;
    record.grid = {grid.x, grid.y, grid.z};
    record.block_size = {block.x, block.y, block.z};
    record.text = "a launch of a grid of " + text_of(grid) + " blocks of " + text_of(block) +
                  " threads with " + std::to_string(shared) +
                  " bytes of shared memory: " + cudaGetErrorString(error);
  }
  return error;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" {

#if CUDART_VERSION >= 13000
// The call behind <<<…>>>, which the Toolkit's headers declare only for generated code.
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream);
cudaError_t convlab_noted___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                             void** arguments, std::size_t shared,
                                             cudaStream_t stream) {
  return noted_launch(grid, block, shared,
                      __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream));
}
#endif
cudaError_t convlab_noted_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block,
                                           void** arguments, std::size_t shared,
                                           cudaStream_t stream) {
  return noted_launch(grid, block, shared,
                      cudaLaunchKernel(kernel, grid, block, arguments, shared, stream));
}
cudaError_t convlab_recorded_cudaMalloc(void** memory, std::size_t bytes);
cudaError_t convlab_recorded_cudaFree(void* memory);
cudaError_t convlab_noted_cudaMalloc(void** pointer, std::size_t bytes) {
  return noted("cudaMalloc", convlab_recorded_cudaMalloc(pointer, bytes));
}
cudaError_t convlab_noted_cudaFree(void* pointer) {
  return noted("cudaFree", convlab_recorded_cudaFree(pointer));
}
cudaError_t convlab_noted_cudaMemcpy(void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  return noted("cudaMemcpy", cudaMemcpy(to, from, bytes, kind));
}
cudaError_t convlab_noted_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
  return noted("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, kind, stream));
}
cudaError_t convlab_noted_cudaMemcpyToSymbol(const void* symbol, const void* from,
                                             std::size_t bytes, std::size_t offset,
                                             cudaMemcpyKind kind) {
  return noted("cudaMemcpyToSymbol", cudaMemcpyToSymbol(symbol, from, bytes, offset, kind));
}
cudaError_t convlab_noted_cudaMemset(void* pointer, int value, std::size_t bytes) {
  return noted("cudaMemset", cudaMemset(pointer, value, bytes));
}
cudaError_t convlab_noted_cudaDeviceSynchronize() {
  return noted("cudaDeviceSynchronize", cudaDeviceSynchronize());
}
cudaError_t convlab_noted_cudaStreamSynchronize(cudaStream_t stream) {
  return noted("cudaStreamSynchronize", cudaStreamSynchronize(stream));
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
