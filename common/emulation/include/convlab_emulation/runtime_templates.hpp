#pragma once

// The parts of the runtime API that take kernels, symbols or typed pointers.

#include <tuple>
#include <type_traits>
#include <utility>

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

template <typename T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <typename T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned int flags = 0) {
  return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes,
                              unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <typename T>
cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width_bytes,
                            std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(pointer), pitch, width_bytes, height);
}
template <typename T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

// A symbol is the variable itself; its address on the host is its address on the emulated device.
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return convlab::emulation::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, false,
                                            nullptr);
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = nullptr) {
  return convlab::emulation::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, true,
                                            stream);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return convlab::emulation::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, false,
                                              nullptr);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
  return convlab::emulation::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, true,
                                              stream);
}
template <typename T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  return convlab::emulation::symbol_address(address, &symbol);
}
template <typename Pointer, typename T>
cudaError_t cudaGetSymbolAddress(Pointer** address, const T& symbol) {
  return convlab::emulation::symbol_address(reinterpret_cast<void**>(address), &symbol);
}
template <typename T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
  return convlab::emulation::symbol_size(bytes, &symbol, sizeof(T));
}

template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  return convlab::emulation::set_function_attribute(reinterpret_cast<const void*>(kernel),
                                                    attribute, value);
}
template <typename Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel* kernel) {
  return convlab::emulation::function_attributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <typename Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel* /*kernel*/, cudaFuncCache /*config*/) {
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaFuncSetSharedMemConfig(Kernel* /*kernel*/, cudaSharedMemConfig /*config*/) {
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel* /*kernel*/,
                                                          int block_size,
                                                          std::size_t dynamic_shared) {
  return convlab::emulation::blocks_per_multiprocessor(blocks, block_size, dynamic_shared);
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* least_grid_size, int* block_size,
                                               Kernel* /*kernel*/, std::size_t dynamic_shared = 0,
                                               int block_size_limit = 0) {
  const auto same = [](const void* state, int) { return *static_cast<const std::size_t*>(state); };
  return convlab::emulation::best_block_size(least_grid_size, block_size, same, &dynamic_shared,
                                             block_size_limit);
}
template <typename Kernel, typename SharedForBlock>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* least_grid_size, int* block_size,
                                                           Kernel* /*kernel*/,
                                                           SharedForBlock shared_for_block,
                                                           int block_size_limit = 0) {
  const auto call = [](const void* state, int size) {
    return static_cast<std::size_t>((*static_cast<const SharedForBlock*>(state))(size));
  };
  return convlab::emulation::best_block_size(least_grid_size, block_size, call, &shared_for_block,
                                             block_size_limit);
}

template <typename... Parameters>
cudaError_t cudaLaunchKernel(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
    std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
    convlab::emulation::CallSite site = convlab::emulation::Here::current()) {
  const auto go = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return convlab::emulation::start_kernel(
        {"cudaLaunchKernel", site, reinterpret_cast<const void*>(kernel), grid, block,
         dynamic_shared},
        stream, kernel, *static_cast<std::remove_cv_t<Parameters>*>(arguments[Index])...);
  };
  return go(std::index_sequence_for<Parameters...>{});
}
/// A kernel cast to a pointer without a type has lost what it takes: refused.
inline cudaError_t cudaLaunchKernel(const void* /*kernel*/, dim3 /*grid*/, dim3 /*block*/,
                                    void** /*arguments*/, std::size_t /*dynamic_shared*/ = 0,
                                    cudaStream_t /*stream*/ = nullptr) {
  return convlab::emulation::refuse_untyped_launch();
}

// NOLINTEND(readability-identifier-naming)
