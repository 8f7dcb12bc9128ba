#pragma once

// What cudaDeviceGetAttribute is asked for.

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
  X(MaxPitch, 11, p.memPitch)                                                              \
  X(MaxRegistersPerBlock, 12, p.regsPerBlock)                                              \
  X(ClockRate, 13, p.clockRate)                                                            \
  X(TextureAlignment, 14, p.textureAlignment)                                              \
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
  X(TccDriver, 35, p.tccDriver)                                                            \
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
  X(GlobalL1CacheSupported, 79, p.globalL1CacheSupported)                                  \
  X(LocalL1CacheSupported, 80, p.localL1CacheSupported)                                    \
  X(MaxSharedMemoryPerMultiprocessor, 81, p.sharedMemPerMultiprocessor)                    \
  X(MaxRegistersPerMultiprocessor, 82, p.regsPerMultiprocessor)                            \
  X(ManagedMemory, 83, p.managedMemory)                                                    \
  X(IsMultiGpuBoard, 84, p.isMultiGpuBoard)                                                \
  X(MultiGpuBoardGroupID, 85, 0)                                                           \
  X(HostNativeAtomicSupported, 86, p.hostNativeAtomicSupported)                            \
  X(SingleToDoublePrecisionPerfRatio, 87, p.singleToDoublePrecisionPerfRatio)              \
  X(PageableMemoryAccess, 88, p.pageableMemoryAccess)                                      \
  X(ConcurrentManagedAccess, 89, p.concurrentManagedAccess)                                \
  X(ComputePreemptionSupported, 90, p.computePreemptionSupported)                          \
  X(CanUseHostPointerForRegisteredMem, 91, p.canUseHostPointerForRegisteredMem)            \
  X(CooperativeLaunch, 95, p.cooperativeLaunch)                                            \
  X(MaxSharedMemoryPerBlockOptin, 97, p.sharedMemPerBlockOptin)                            \
  X(CanFlushRemoteWrites, 98, 0)                                                           \
  X(HostRegisterSupported, 99, 0)                                                          \
  X(PageableMemoryAccessUsesHostPageTables, 100, p.pageableMemoryAccessUsesHostPageTables) \
  X(DirectManagedMemAccessFromHost, 101, p.directManagedMemAccessFromHost)                 \
  X(MaxBlocksPerMultiprocessor, 106, p.maxBlocksPerMultiProcessor)                         \
  X(MaxPersistingL2CacheSize, 108, p.persistingL2CacheMaxSize)                             \
  X(MaxAccessPolicyWindowSize, 109, 0)                                                     \
  X(ReservedSharedMemoryPerBlock, 111, p.reservedSharedMemPerBlock)                        \
  X(MemoryPoolsSupported, 115, p.memoryPoolsSupported)                                     \
  X(ClusterLaunch, 120, 0)

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
enum cudaDeviceAttr : unsigned int {
#define CONVLAB_ATTRIBUTE(name, number, value) cudaDevAttr##name = (number),
  CONVLAB_DEVICE_ATTRIBUTES(CONVLAB_ATTRIBUTE)
#undef CONVLAB_ATTRIBUTE
      cudaDevAttrMax = 148
};
// NOLINTEND(readability-identifier-naming)
