#pragma once

// Functions of the CUDA runtime API. They are C++ functions here, so that a program may also be
// linked with the real libcudart; the implementation is in common/emulation/runtime, that of graphs
// in common/emulation/extended/runtime.

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/runtime_types.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

// Errors
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// Device
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int* flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* name, int bytes, int device);
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* name);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
cudaError_t cudaDeviceSynchronize();
CONVLAB_REFUSED_BY_NVCC("write cudaDeviceSynchronize()")
cudaError_t cudaThreadSynchronize();
CONVLAB_REFUSED_BY_NVCC("write cudaDeviceReset()")
cudaError_t cudaThreadExit();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

// Calls that make no difference on the emulated device: hints, caches, where memory lies.
#define CONVLAB_WITHOUT_EFFECT(name, parameters) \
  CONVLAB_FUNCTION(cudaError_t, name, parameters, cudaSuccess)
CONVLAB_WITHOUT_EFFECT(cudaSetDeviceFlags, (unsigned int))
CONVLAB_WITHOUT_EFFECT(cudaDeviceSetCacheConfig, (cudaFuncCache))
CONVLAB_WITHOUT_EFFECT(cudaDeviceSetSharedMemConfig, (cudaSharedMemConfig))
CONVLAB_WITHOUT_EFFECT(cudaCtxResetPersistingL2Cache, ())
CONVLAB_WITHOUT_EFFECT(cudaDeviceGraphMemTrim, (int))
CONVLAB_WITHOUT_EFFECT(cudaProfilerStart, ())
// Of kernels: a launch begins when the one before it has ended.
CONVLAB_WITHOUT_EFFECT(cudaGridDependencySynchronize, ())
CONVLAB_WITHOUT_EFFECT(cudaTriggerProgrammaticLaunchCompletion, ())
CONVLAB_WITHOUT_EFFECT(cudaProfilerStop, ())
CONVLAB_WITHOUT_EFFECT(cudaMemPrefetchAsync, (const void*, std::size_t, cudaMemLocation,
                                              unsigned int, cudaStream_t = nullptr))
CONVLAB_WITHOUT_EFFECT(cudaMemAdvise, (const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation))
#define CONVLAB_NO_NUMBER "write cudaMemLocation{cudaMemLocationTypeDevice, number} for the number"
CONVLAB_REFUSED_BY_NVCC(CONVLAB_NO_NUMBER)
CONVLAB_WITHOUT_EFFECT(cudaMemPrefetchAsync,
                       (const void*, std::size_t, int, cudaStream_t = nullptr))
CONVLAB_REFUSED_BY_NVCC(CONVLAB_NO_NUMBER)
CONVLAB_WITHOUT_EFFECT(cudaMemAdvise, (const void*, std::size_t, cudaMemoryAdvise, int))
#undef CONVLAB_NO_NUMBER
CONVLAB_WITHOUT_EFFECT(cudaStreamAttachMemAsync,
                       (cudaStream_t, void*, std::size_t = 0, unsigned int = cudaMemAttachSingle))
CONVLAB_WITHOUT_EFFECT(cudaMemPoolSetAttribute, (cudaMemPool_t, cudaMemPoolAttr, void*))
CONVLAB_WITHOUT_EFFECT(cudaMemPoolTrimTo, (cudaMemPool_t, std::size_t))
CONVLAB_WITHOUT_EFFECT(cudaStreamSetAttribute,
                       (cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*))
#undef CONVLAB_WITHOUT_EFFECT
// Another process or another device: never, with one sentence.
#define CONVLAB_OF_OTHERS(X)                                          \
  X(cudaIpcGetMemHandle, (cudaIpcMemHandle_t*, void*))                \
  X(cudaIpcOpenMemHandle, (void**, cudaIpcMemHandle_t, unsigned int)) \
  X(cudaIpcCloseMemHandle, (void*))                                   \
  X(cudaIpcGetEventHandle, (cudaIpcEventHandle_t*, cudaEvent_t))      \
  X(cudaIpcOpenEventHandle, (cudaEvent_t*, cudaIpcEventHandle_t))     \
  X(cudaDeviceGetP2PAttribute, (int*, cudaDeviceP2PAttr, int, int))   \
  X(cudaDeviceEnablePeerAccess, (int, unsigned int))                  \
  X(cudaDeviceDisablePeerAccess, (int))
#define CONVLAB_DECLARED(name, parameters) cudaError_t name parameters;
CONVLAB_OF_OTHERS(CONVLAB_DECLARED)
#undef CONVLAB_DECLARED

// Memory
cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned int flags = 0);
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer);
cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags);
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes,
                              unsigned int flags = cudaMemAttachGlobal);
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width_bytes,
                            std::size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr* box, cudaExtent extent);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

// Copies
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width_bytes, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width_bytes,
                              std::size_t height, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width_bytes,
                         std::size_t height);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* box);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* box, cudaStream_t stream = nullptr);
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent);
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent,
                              cudaStream_t stream = nullptr);

// Streams and events
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* number);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags = cudaEventDefault);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr,
                                     unsigned int flags = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/// Host time between the two records, in milliseconds.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

// Graphs: by stream capture and by nodes
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;

enum cudaStreamCaptureMode : unsigned int {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus : unsigned int {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};

struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct cudaMemsetParams {
  void* dst;
  std::size_t pitch;
  unsigned int value;
  unsigned int elementSize;  ///< 1, 2 or 4
  std::size_t width;         ///< in elements
  std::size_t height;
};
struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void* userData;
};
enum cudaGraphExecUpdateResult : unsigned int {
  cudaGraphExecUpdateSuccess = 0,
  cudaGraphExecUpdateError = 1,
  cudaGraphExecUpdateErrorTopologyChanged = 2,
  cudaGraphExecUpdateErrorNodeTypeChanged = 3,
};
struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode;
  cudaGraphNode_t errorFromNode;
};

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
// What every new node gets: its graph, and `count` nodes that it waits for.
#define CONVLAB_NEW_NODE \
  cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, std::size_t count
cudaError_t cudaGraphAddKernelNode(CONVLAB_NEW_NODE, const cudaKernelNodeParams* parameters,
                                   CONVLAB_CALL_SITE);
cudaError_t cudaGraphAddMemcpyNode(CONVLAB_NEW_NODE, const cudaMemcpy3DParms* parameters);
cudaError_t cudaGraphAddMemcpyNode1D(CONVLAB_NEW_NODE, void* to, const void* from,
                                     std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(CONVLAB_NEW_NODE, const cudaMemsetParams* parameters);
cudaError_t cudaGraphAddHostNode(CONVLAB_NEW_NODE, const cudaHostNodeParams* parameters);
cudaError_t cudaGraphAddEmptyNode(CONVLAB_NEW_NODE);
cudaError_t cudaGraphAddMemAllocNode(CONVLAB_NEW_NODE, cudaMemAllocNodeParams* parameters);
/// The memory stays until the end of the program, so that the graph can be launched again.
cudaError_t cudaGraphAddMemFreeNode(CONVLAB_NEW_NODE, void* pointer);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags = 0);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, std::size_t log_bytes);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters,
                                             CONVLAB_CALL_SITE);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result);
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                       cudaGraphNode_t* error_node,
                                       cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t error = cudaGraphExecUpdate(executable, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return error;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

namespace convlab::emulation {

// What the templates at the end of this file are made of.
struct SymbolCopy {
  const char* function;
  const volatile void* symbol;
  std::size_t symbol_bytes;
  bool to_symbol;
  bool asynchronous;
};
cudaError_t copy_symbol(const SymbolCopy& copy, const void* other, std::size_t bytes,
                        std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t symbol_address(void** address, const volatile void* symbol);
cudaError_t symbol_size(std::size_t* bytes, const volatile void* symbol, std::size_t symbol_bytes);
cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t blocks_per_multiprocessor(int* blocks, const void* kernel, int block_size,
                                      std::size_t dynamic_shared);
cudaError_t free_shared_memory(std::size_t* bytes, const void* kernel, int blocks, int block_size);
cudaError_t best_block_size(int* least_grid_size, int* block_size, const void* kernel,
                            std::size_t dynamic_shared, int block_size_limit);

}  // namespace convlab::emulation

// ---- the parts that take kernels, symbols or typed pointers -------------------------------------

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
#define CONVLAB_SYMBOL_COPY(name, to_symbol, first, second, direction)                           \
  template <typename T>                                                                          \
  cudaError_t name(first, second, std::size_t bytes, std::size_t offset = 0,                     \
                   cudaMemcpyKind kind = direction) {                                            \
    return convlab::emulation::copy_symbol({#name, &symbol, sizeof(T), to_symbol, false}, other, \
                                           bytes, offset, kind, nullptr);                        \
  }                                                                                              \
  template <typename T>                                                                          \
  cudaError_t name##Async(first, second, std::size_t bytes, std::size_t offset = 0,              \
                          cudaMemcpyKind kind = direction, cudaStream_t stream = nullptr) {      \
    return convlab::emulation::copy_symbol({#name "Async", &symbol, sizeof(T), to_symbol, true}, \
                                           other, bytes, offset, kind, stream);                  \
  }
CONVLAB_SYMBOL_COPY(cudaMemcpyToSymbol, true, const T& symbol, const void* other,
                    cudaMemcpyHostToDevice)
CONVLAB_SYMBOL_COPY(cudaMemcpyFromSymbol, false, void* other, const T& symbol,
                    cudaMemcpyDeviceToHost)
#undef CONVLAB_SYMBOL_COPY
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
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel* kernel,
                                                          int block_size,
                                                          std::size_t dynamic_shared) {
  return convlab::emulation::blocks_per_multiprocessor(
      blocks, reinterpret_cast<const void*>(kernel), block_size, dynamic_shared);
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel* kernel,
                                                                   int block_size,
                                                                   std::size_t dynamic_shared,
                                                                   unsigned int /*flags*/) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, dynamic_shared);
}
template <typename Kernel>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, Kernel* kernel,
                                                      int blocks, int block_size) {
  return convlab::emulation::free_shared_memory(bytes, reinterpret_cast<const void*>(kernel),
                                                blocks, block_size);
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* least_grid_size, int* block_size,
                                               Kernel* kernel, std::size_t dynamic_shared = 0,
                                               int block_size_limit = 0) {
  return convlab::emulation::best_block_size(least_grid_size, block_size,
                                             reinterpret_cast<const void*>(kernel), dynamic_shared,
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

// NOLINTEND(readability-identifier-naming)
