#pragma once

// Types and constants of the CUDA runtime API, as far as a course needs them.
// Source: CUDA Runtime API reference.

#include <cstddef>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

// ---- errors, with their numbers and words -------------------------------------------------------

// X(name without cuda or cudaError, number, text)
#define CONVLAB_CUDA_ERRORS(X)                                                                     \
  X(InvalidValue, 1, "invalid argument")                                                           \
  X(MemoryAllocation, 2, "out of memory")                                                          \
  X(InitializationError, 3, "initialization error")                                                \
  X(InvalidConfiguration, 9, "invalid configuration argument")                                     \
  X(InvalidPitchValue, 12, "invalid pitch argument")                                               \
  X(InvalidSymbol, 13, "invalid device symbol")                                                    \
  X(InvalidDevicePointer, 17, "invalid device pointer")                                            \
  X(InvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                               \
  X(InsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")        \
  X(DevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                   \
  X(InvalidDeviceFunction, 98, "invalid device function")                                          \
  X(NoDevice, 100, "no CUDA-capable device is detected")                                           \
  X(InvalidDevice, 101, "invalid device ordinal")                                                  \
  X(NoKernelImageForDevice, 209, "no kernel image is available for execution on the device")       \
  X(PeerAccessUnsupported, 217, "peer access is not supported between these two devices")          \
  X(InvalidResourceHandle, 400, "invalid resource handle")                                         \
  X(IllegalState, 401, "the operation cannot be performed in the present state")                   \
  X(SymbolNotFound, 500, "named symbol not found")                                                 \
  X(NotReady, 600, "device not ready")                                                             \
  X(IllegalAddress, 700, "an illegal memory access was encountered")                               \
  X(LaunchOutOfResources, 701, "too many resources requested for launch")                          \
  X(LaunchTimeout, 702, "the launch timed out and was terminated")                                 \
  X(PeerAccessAlreadyEnabled, 704, "peer access is already enabled")                               \
  X(PeerAccessNotEnabled, 705, "peer access has not been enabled")                                 \
  X(Assert, 710, "device-side assert triggered")                                                   \
  X(HostMemoryAlreadyRegistered, 712,                                                              \
    "part or all of the requested memory range is already mapped")                                 \
  X(HostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")     \
  X(HardwareStackError, 714, "hardware stack error")                                               \
  X(IllegalInstruction, 715, "an illegal instruction was encountered")                             \
  X(MisalignedAddress, 716, "misaligned address")                                                  \
  X(InvalidAddressSpace, 717, "operation not supported on global/shared address space")            \
  X(LaunchFailure, 719, "unspecified launch failure")                                              \
  X(CooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                       \
  X(NotPermitted, 800, "operation not permitted")                                                  \
  X(NotSupported, 801, "operation not supported")                                                  \
  X(StreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")             \
  X(StreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")      \
  X(StreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")           \
  X(StreamCaptureUnjoined, 904, "capturing stream has unjoined work")                              \
  X(StreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")        \
  X(StreamCaptureImplicit, 906,                                                                    \
    "operation would make the legacy stream depend on a capturing blocking stream")                \
  X(CapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream") \
  X(GraphExecUpdateFailure, 910,                                                                   \
    "the graph update was not performed because it included changes which violated constraints "   \
    "specific to instantiated graph update")                                                       \
  X(Unknown, 999, "unknown error")

enum cudaError : unsigned int {
  cudaSuccess = 0,
#define CONVLAB_CUDA_ERROR(name, number, text) cudaError##name = (number),
  CONVLAB_CUDA_ERRORS(CONVLAB_CUDA_ERROR)
#undef CONVLAB_CUDA_ERROR
};
using cudaError_t = cudaError;

// ---- what cudaDeviceGetAttribute is asked for ---------------------------------------------------

/// X(name, number in CUDA, value as a cudaDeviceProp p has it). An emulated device answers 0 to
/// what it knows nothing of. Not here: textures, surfaces, and what ties a GPU to other devices and
/// programs.
#define CONVLAB_DEVICE_ATTRIBUTES(X)                                                       \
  X(MaxThreadsPerBlock, 1, p.maxThreadsPerBlock)                                           \
  X(MaxBlockDimX, 2, p.maxThreadsDim[0])                                                   \
  X(MaxBlockDimY, 3, p.maxThreadsDim[1])                                                   \
  X(MaxBlockDimZ, 4, p.maxThreadsDim[2])                                                   \
  X(MaxGridDimX, 5, p.maxGridSize[0])                                                      \
  X(MaxGridDimY, 6, p.maxGridSize[1])                                                      \
  X(MaxGridDimZ, 7, p.maxGridSize[2])                                                      \
  X(MaxSharedMemoryPerBlock, 8, p.sharedMemPerBlock)                                       \
  X(TotalConstantMemory, 9, p.totalConstMem)                                               \
  X(WarpSize, 10, p.warpSize)                                                              \
  X(MaxRegistersPerBlock, 12, p.regsPerBlock)                                              \
  X(ClockRate, 13, p.clockRate)                                                            \
  X(GpuOverlap, 15, p.deviceOverlap)                                                       \
  X(MultiProcessorCount, 16, p.multiProcessorCount)                                        \
  X(KernelExecTimeout, 17, p.kernelExecTimeoutEnabled)                                     \
  X(Integrated, 18, p.integrated)                                                          \
  X(CanMapHostMemory, 19, p.canMapHostMemory)                                              \
  X(ComputeMode, 20, p.computeMode)                                                        \
  X(MaxTexture1DWidth, 21, p.maxTexture1D)                                                 \
  X(ConcurrentKernels, 31, p.concurrentKernels)                                            \
  X(EccEnabled, 32, p.ECCEnabled)                                                          \
  X(PciBusId, 33, p.pciBusID)                                                              \
  X(PciDeviceId, 34, p.pciDeviceID)                                                        \
  X(MemoryClockRate, 36, p.memoryClockRate)                                                \
  X(GlobalMemoryBusWidth, 37, p.memoryBusWidth)                                            \
  X(L2CacheSize, 38, p.l2CacheSize)                                                        \
  X(MaxThreadsPerMultiProcessor, 39, p.maxThreadsPerMultiProcessor)                        \
  X(AsyncEngineCount, 40, p.asyncEngineCount)                                              \
  X(UnifiedAddressing, 41, p.unifiedAddressing)                                            \
  X(PciDomainId, 50, p.pciDomainID)                                                        \
  X(ComputeCapabilityMajor, 75, p.major)                                                   \
  X(ComputeCapabilityMinor, 76, p.minor)                                                   \
  X(StreamPrioritiesSupported, 78, p.streamPrioritiesSupported)                            \
  X(MaxSharedMemoryPerMultiprocessor, 81, p.sharedMemPerMultiprocessor)                    \
  X(MaxRegistersPerMultiprocessor, 82, p.regsPerMultiprocessor)                            \
  X(ManagedMemory, 83, p.managedMemory)                                                    \
  X(SingleToDoublePrecisionPerfRatio, 87, p.singleToDoublePrecisionPerfRatio)              \
  X(PageableMemoryAccess, 88, p.pageableMemoryAccess)                                      \
  X(ConcurrentManagedAccess, 89, p.concurrentManagedAccess)                                \
  X(ComputePreemptionSupported, 90, p.computePreemptionSupported)                          \
  X(MaxPitch, 11, p.memPitch)                                                              \
  X(TextureAlignment, 14, p.textureAlignment)                                              \
  X(TccDriver, 35, p.tccDriver)                                                            \
  X(GlobalL1CacheSupported, 79, p.globalL1CacheSupported)                                  \
  X(LocalL1CacheSupported, 80, p.localL1CacheSupported)                                    \
  X(IsMultiGpuBoard, 84, p.isMultiGpuBoard)                                                \
  X(HostNativeAtomicSupported, 86, p.hostNativeAtomicSupported)                            \
  X(CanUseHostPointerForRegisteredMem, 91, p.canUseHostPointerForRegisteredMem)            \
  X(PageableMemoryAccessUsesHostPageTables, 100, p.pageableMemoryAccessUsesHostPageTables) \
  X(DirectManagedMemAccessFromHost, 101, p.directManagedMemAccessFromHost)                 \
  X(MaxPersistingL2CacheSize, 108, p.persistingL2CacheMaxSize)                             \
  X(ReservedSharedMemoryPerBlock, 111, p.reservedSharedMemPerBlock)                        \
  X(CooperativeLaunch, 95, p.cooperativeLaunch)                                            \
  X(CooperativeMultiDeviceLaunch, 96, p.cooperativeMultiDeviceLaunch)                      \
  X(MaxSharedMemoryPerBlockOptin, 97, p.sharedMemPerBlockOptin)                            \
  X(MaxBlocksPerMultiprocessor, 106, p.maxBlocksPerMultiProcessor)                         \
  X(MemoryPoolsSupported, 115, p.memoryPoolsSupported)                                     \
  X(ClusterLaunch, 120, 0)

enum cudaDeviceAttr : unsigned int {
#define CONVLAB_ATTRIBUTE(name, number, value) cudaDevAttr##name = (number),
  CONVLAB_DEVICE_ATTRIBUTES(CONVLAB_ATTRIBUTE)
#undef CONVLAB_ATTRIBUTE
      cudaDevAttrMax = 148
};

// ---- types and constants ------------------------------------------------------------------------

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaArray_t = struct cudaArray*;  // of textures, which are not emulated: always null
using cudaHostFn_t = void (*)(void*);
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);

#define CUDART_VERSION 13000
// Course helpers (helper_cuda.h) ask for the toolkit's include guard.
#define __DRIVER_TYPES_H__
#define CUDART_CB

inline const cudaStream_t cudaStreamLegacy = reinterpret_cast<cudaStream_t>(1);
inline const cudaStream_t cudaStreamPerThread = reinterpret_cast<cudaStream_t>(2);

// The underlying types stand here so that a number without a name is a value too: it becomes an
// error, as on a GPU, and no undefined behaviour.
enum cudaMemcpyKind : unsigned int {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

enum : unsigned int {
  cudaHostAllocDefault = 0x00,
  cudaHostAllocPortable = 0x01,
  cudaHostAllocMapped = 0x02,
  cudaHostAllocWriteCombined = 0x04,
  cudaHostRegisterDefault = 0x00,
  cudaHostRegisterPortable = 0x01,
  cudaHostRegisterMapped = 0x02,
  cudaMemAttachGlobal = 0x01,
  cudaMemAttachHost = 0x02,
  cudaMemAttachSingle = 0x04,
  cudaEventDefault = 0x00,
  cudaEventBlockingSync = 0x01,
  cudaEventDisableTiming = 0x02,
  cudaEventInterprocess = 0x04,
  cudaStreamDefault = 0x00,
  cudaStreamNonBlocking = 0x01,
  cudaDeviceScheduleAuto = 0x00,
  cudaDeviceScheduleSpin = 0x01,
  cudaDeviceScheduleYield = 0x02,
  cudaDeviceScheduleBlockingSync = 0x04,
  cudaDeviceBlockingSync = 0x04,
  cudaDeviceMapHost = 0x08,
  cudaOccupancyDefault = 0x00,
  cudaEventRecordDefault = 0x00,
  cudaEventWaitDefault = 0x00,
};
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)

enum cudaFuncAttribute : unsigned int {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaSharedCarveout : int {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};
enum cudaFuncCache : unsigned int {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};
enum cudaSharedMemConfig : unsigned int {
  cudaSharedMemBankSizeDefault = 0,
  cudaSharedMemBankSizeFourByte = 1,
  cudaSharedMemBankSizeEightByte = 2,
};
enum cudaLimit : unsigned int {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
  cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6,
};
enum cudaComputeMode : unsigned int {
  cudaComputeModeDefault = 0,
  cudaComputeModeExclusive = 1,
  cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3,
};
enum cudaMemoryType : unsigned int {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};
enum cudaMemoryAdvise : unsigned int {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly = 2,
  cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4,
  cudaMemAdviseSetAccessedBy = 5,
  cudaMemAdviseUnsetAccessedBy = 6,
};

enum cudaDeviceP2PAttr : unsigned int {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported = 2,
  cudaDevP2PAttrNativeAtomicSupported = 3,
  cudaDevP2PAttrCudaArrayAccessSupported = 4,
};
struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};
constexpr unsigned int cudaIpcMemLazyEnablePeerAccess = 1;
enum cudaMemLocationType : unsigned int {
  cudaMemLocationTypeInvalid = 0,
  cudaMemLocationTypeDevice = 1,
  cudaMemLocationTypeHost = 2,
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};

using cudaMemPool_t = struct CUmemPoolHandle_st*;
enum cudaMemAllocationType : unsigned int {
  cudaMemAllocationTypeInvalid = 0,
  cudaMemAllocationTypePinned = 1,
};
enum cudaMemAllocationHandleType : unsigned int { cudaMemHandleTypeNone = 0 };
enum cudaMemAccessFlags : unsigned int {
  cudaMemAccessFlagsProtNone = 0,
  cudaMemAccessFlagsProtRead = 1,
  cudaMemAccessFlagsProtReadWrite = 3,
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  std::size_t maxSize;
};
struct cudaMemAllocNodeParams {
  cudaMemPoolProps poolProps;
  const cudaMemAccessDesc* accessDescs;
  std::size_t accessDescCount;
  std::size_t bytesize;
  void* dptr;  ///< where the memory will be: the node's result
};
enum cudaMemPoolAttr : unsigned int {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3,
  cudaMemPoolAttrReleaseThreshold = 4,
};

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

// Of copies of boxes. Widths and x in bytes; arrays belong to textures, which are not emulated.
struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPos {
  std::size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
CONVLAB_FUNCTION(cudaExtent, make_cudaExtent,
                 (std::size_t width, std::size_t height, std::size_t depth),
                 (cudaExtent{width, height, depth}))
CONVLAB_FUNCTION(cudaPos, make_cudaPos, (std::size_t x, std::size_t y, std::size_t z),
                 (cudaPos{x, y, z}))
CONVLAB_FUNCTION(cudaPitchedPtr, make_cudaPitchedPtr,
                 (void* pointer, std::size_t pitch, std::size_t xsize, std::size_t ysize),
                 (cudaPitchedPtr{pointer, pitch, xsize, ysize}))
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};

enum cudaAccessProperty : unsigned int {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2,
};
struct cudaAccessPolicyWindow {
  void* base_ptr;
  std::size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp;
  cudaAccessProperty missProp;
};
enum cudaStreamAttrID : unsigned int {
  cudaStreamAttributeAccessPolicyWindow = 1,
  cudaStreamAttributePriority = 8,
};
union cudaStreamAttrValue {
  char pad[64];
  cudaAccessPolicyWindow accessPolicyWindow;
  int priority;
};

/// Kinds of work in a stream or a graph.
enum cudaGraphNodeType : unsigned int {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5,
  cudaGraphNodeTypeMemAlloc = 10,
  cudaGraphNodeTypeMemFree = 11,
};

struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
  int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

struct cudaUUID_t {
  char bytes[16];
};
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  int major, minor;
  // Memory
  std::size_t totalGlobalMem, totalConstMem, memPitch, textureAlignment;
  std::size_t sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
  std::size_t reservedSharedMemPerBlock;
  int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int globalL1CacheSupported, localL1CacheSupported, ECCEnabled, memoryPoolsSupported;
  int unifiedAddressing, canMapHostMemory, managedMemory, concurrentManagedAccess;
  int pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int hostNativeAtomicSupported, canUseHostPointerForRegisteredMem;
  // Threads
  int warpSize, multiProcessorCount, regsPerBlock, regsPerMultiprocessor;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
  int cooperativeLaunch, computePreemptionSupported;
  // The device and the host
  int asyncEngineCount, concurrentKernels, streamPrioritiesSupported;
  int integrated, tccDriver, isMultiGpuBoard;
  int pciBusID, pciDeviceID, pciDomainID;
  // Sizes of textures and surfaces, which the emulated device has not: 0.
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3];
  int maxTexture1DLayered[2], maxTexture2DLayered[3];
  std::size_t texturePitchAlignment, surfaceAlignment;
  // Removed in CUDA 13.
#define CONVLAB_REMOVED(name, attribute)                                                \
  CONVLAB_REFUSED_BY_NVCC("cudaDeviceProp has no member " #name                         \
                          "; ask cudaDeviceGetAttribute(&value, cudaDevAttr" #attribute \
                          ", device)")                                                  \
  int name;
  CONVLAB_REMOVED(clockRate, ClockRate)
  CONVLAB_REMOVED(memoryClockRate, MemoryClockRate)
  CONVLAB_REMOVED(deviceOverlap, GpuOverlap)
  CONVLAB_REMOVED(kernelExecTimeoutEnabled, KernelExecTimeout)
  CONVLAB_REMOVED(computeMode, ComputeMode)
  CONVLAB_REMOVED(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio)
  CONVLAB_REMOVED(cooperativeMultiDeviceLaunch, CooperativeMultiDeviceLaunch)
#undef CONVLAB_REMOVED
};

// NOLINTEND(readability-identifier-naming)
