#pragma once

// Types and constants of the CUDA runtime API, as far as a course needs them.
// Source: CUDA Runtime API reference.

#include <cstddef>

#include "common/emulation/include/convlab_emulation/device_attributes.hpp"
#include "common/emulation/include/convlab_emulation/error_codes.hpp"
#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaArray_t = struct cudaArray*;  // of textures, which are not emulated: always null
using cudaHostFn_t = void (*)(void*);
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);

#define CUDART_VERSION 12000
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

// Of nodes that copy rows. Widths and x in bytes; arrays belong to textures, which are not
// emulated.
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
enum cudaLaunchAttributeID : unsigned int {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
};
union cudaLaunchAttributeValue {
  char pad[64];
  cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
};
using cudaStreamAttrID = cudaLaunchAttributeID;
using cudaStreamAttrValue = cudaLaunchAttributeValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributePriority cudaLaunchAttributePriority
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
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
  int memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int globalL1CacheSupported, localL1CacheSupported, ECCEnabled, memoryPoolsSupported;
  int unifiedAddressing, canMapHostMemory, managedMemory, concurrentManagedAccess;
  int pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int hostNativeAtomicSupported, canUseHostPointerForRegisteredMem;
  // Threads
  int warpSize, clockRate, multiProcessorCount, regsPerBlock, regsPerMultiprocessor;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch, computePreemptionSupported;
  int singleToDoublePrecisionPerfRatio;
  // The device and the host
  int deviceOverlap, asyncEngineCount, concurrentKernels, streamPrioritiesSupported;
  int kernelExecTimeoutEnabled, computeMode, integrated, tccDriver, isMultiGpuBoard;
  int pciBusID, pciDeviceID, pciDomainID;
  // Sizes of textures and surfaces, which the emulated device has not: 0.
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3];
  int maxTexture1DLayered[2], maxTexture2DLayered[3];
  std::size_t texturePitchAlignment, surfaceAlignment;
};

// NOLINTEND(readability-identifier-naming)
