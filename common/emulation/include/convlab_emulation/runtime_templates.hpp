#pragma once

// The parts of the runtime API that take kernels, symbols or typed pointers.

#include <utility>

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

// The functions that give a pointer, for pointers of any type.
#define CONVLAB_TYPED(name, parameters, ...)                     \
  template <typename T>                                          \
  cudaError_t name parameters {                                  \
    return name(reinterpret_cast<void**>(pointer), __VA_ARGS__); \
  }
CONVLAB_TYPED(cudaMalloc, (T * *pointer, std::size_t bytes), bytes)
CONVLAB_TYPED(cudaMallocHost, (T * *pointer, std::size_t bytes, unsigned int flags = 0), bytes,
              flags)
CONVLAB_TYPED(cudaHostAlloc, (T * *pointer, std::size_t bytes, unsigned int flags), bytes, flags)
CONVLAB_TYPED(cudaMallocManaged,
              (T * *pointer, std::size_t bytes, unsigned int flags = cudaMemAttachGlobal), bytes,
              flags)
CONVLAB_TYPED(cudaMallocAsync, (T * *pointer, std::size_t bytes, cudaStream_t stream), bytes,
              stream)
CONVLAB_TYPED(cudaMallocPitch,
              (T * *pointer, std::size_t* pitch, std::size_t width_bytes, std::size_t height),
              pitch, width_bytes, height)
CONVLAB_TYPED(cudaHostGetDevicePointer, (T * *pointer, void* host, unsigned int flags), host, flags)
#undef CONVLAB_TYPED

// A symbol is the variable itself; its address on the host is its address on the emulated device.
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return convlab::emulation::copy_symbol({"cudaMemcpyToSymbol", &symbol, sizeof(T), true, false},
                                         from, bytes, offset, kind, nullptr);
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = nullptr) {
  return convlab::emulation::copy_symbol(
      {"cudaMemcpyToSymbolAsync", &symbol, sizeof(T), true, true}, from, bytes, offset, kind,
      stream);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return convlab::emulation::copy_symbol({"cudaMemcpyFromSymbol", &symbol, sizeof(T), false, false},
                                         to, bytes, offset, kind, nullptr);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
  return convlab::emulation::copy_symbol(
      {"cudaMemcpyFromSymbolAsync", &symbol, sizeof(T), false, true}, to, bytes, offset, kind,
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
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel* kernel,
                                                                   int block_size,
                                                                   std::size_t dynamic_shared,
                                                                   unsigned int /*flags*/) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, dynamic_shared);
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

// By a kernel's name, or by its address: the rewrite has noted what it takes where it is cast.
#define CONVLAB_LAUNCH(name, is_cooperative)                                                       \
  inline cudaError_t name(const void* kernel, dim3 grid, dim3 block, void** arguments,             \
                          std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,           \
                          CONVLAB_CALL_SITE) {                                                     \
    return convlab::emulation::launch_untyped(                                                     \
        kernel, arguments, {grid, block, dynamic_shared, stream, site, is_cooperative});           \
  }                                                                                                \
  template <typename... Parameters>                                                                \
  cudaError_t name(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,         \
                   std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,                  \
                   CONVLAB_CALL_SITE) {                                                            \
    return name(static_cast<const void*>(convlab::emulation::untyped_kernel(kernel, #name)), grid, \
                block, arguments, dynamic_shared, stream, site);                                   \
  }
CONVLAB_LAUNCH(cudaLaunchKernel, false)
CONVLAB_LAUNCH(cudaLaunchCooperativeKernel, true)
#undef CONVLAB_LAUNCH

namespace convlab::emulation {

/// The first argument of cudaLaunchKernelEx, with the place of the call, for which a parameter pack
/// leaves no room at the end.
struct ConfigurationHere {
  // Implicit: that notes the place.
  ConfigurationHere(const cudaLaunchConfig_t* from, CallSite place = Here::current())
      : config(*from), site(place) {}
  const cudaLaunchConfig_t& config;
  CallSite site;

  [[nodiscard]] Configuration configuration() const {
    bool cooperative = false;
    for (unsigned i = 0; i < config.numAttrs; ++i)
      if (config.attrs[i].id == cudaLaunchAttributeCooperative)
        cooperative = config.attrs[i].val.cooperative != 0;
    return {config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream,
            site,           cooperative};
  }
};

}  // namespace convlab::emulation

inline cudaError_t cudaLaunchKernelExC(convlab::emulation::ConfigurationHere here,
                                       const void* kernel, void** arguments) {
  const cudaError_t problem = convlab::emulation::check_launch_attributes(here.config);
  if (problem != cudaSuccess) return problem;
  return convlab::emulation::launch_untyped(kernel, arguments, here.configuration());
}
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(convlab::emulation::ConfigurationHere here,
                               void (*kernel)(Parameters...), Arguments&&... arguments) {
  return [&](Parameters... values) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
    return cudaLaunchKernelExC(
        here, convlab::emulation::untyped_kernel(kernel, "cudaLaunchKernelEx"), pointers);
  }(std::forward<Arguments>(arguments)...);
}

// NOLINTEND(readability-identifier-naming)
