#pragma once

// The errors of the CUDA runtime, with its numbers and its words.
// Source: CUDA Runtime API reference, cudaError.

// X(name without cuda or cudaError, number, text)
#define CONVLAB_CUDA_ERRORS(X)                                                                     \
  X(InvalidValue, 1, "invalid argument")                                                           \
  X(MemoryAllocation, 2, "out of memory")                                                          \
  X(InitializationError, 3, "initialization error")                                                \
  X(CudartUnloading, 4, "driver shutting down")                                                    \
  X(ProfilerDisabled, 5, "profiler disabled while using external profiling tool")                  \
  X(InvalidConfiguration, 9, "invalid configuration argument")                                     \
  X(InvalidPitchValue, 12, "invalid pitch argument")                                               \
  X(InvalidSymbol, 13, "invalid device symbol")                                                    \
  X(InvalidHostPointer, 16, "invalid host pointer")                                                \
  X(InvalidDevicePointer, 17, "invalid device pointer")                                            \
  X(InvalidTexture, 18, "invalid texture reference")                                               \
  X(InvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                               \
  X(InsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")        \
  X(DevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                   \
  X(MissingConfiguration, 52, "__global__ function call is not configured")                        \
  X(InvalidDeviceFunction, 98, "invalid device function")                                          \
  X(NoDevice, 100, "no CUDA-capable device is detected")                                           \
  X(InvalidDevice, 101, "invalid device ordinal")                                                  \
  X(InvalidKernelImage, 200, "device kernel image is invalid")                                     \
  X(DeviceUninitialized, 201, "invalid device context")                                            \
  X(NoKernelImageForDevice, 209, "no kernel image is available for execution on the device")       \
  X(PeerAccessUnsupported, 217, "peer access is not supported between these two devices")          \
  X(InvalidPtx, 218, "a PTX JIT compilation failed")                                               \
  X(InvalidResourceHandle, 400, "invalid resource handle")                                         \
  X(IllegalState, 401, "the operation cannot be performed in the present state")                   \
  X(SymbolNotFound, 500, "named symbol not found")                                                 \
  X(NotReady, 600, "device not ready")                                                             \
  X(IllegalAddress, 700, "an illegal memory access was encountered")                               \
  X(LaunchOutOfResources, 701, "too many resources requested for launch")                          \
  X(LaunchTimeout, 702, "the launch timed out and was terminated")                                 \
  X(LaunchIncompatibleTexturing, 703, "launch uses incompatible texturing mode")                   \
  X(PeerAccessAlreadyEnabled, 704, "peer access is already enabled")                               \
  X(PeerAccessNotEnabled, 705, "peer access has not been enabled")                                 \
  X(ContextIsDestroyed, 709, "context is destroyed")                                               \
  X(Assert, 710, "device-side assert triggered")                                                   \
  X(HostMemoryAlreadyRegistered, 712,                                                              \
    "part or all of the requested memory range is already mapped")                                 \
  X(HostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")     \
  X(HardwareStackError, 714, "hardware stack error")                                               \
  X(IllegalInstruction, 715, "an illegal instruction was encountered")                             \
  X(MisalignedAddress, 716, "misaligned address")                                                  \
  X(InvalidAddressSpace, 717, "operation not supported on global/shared address space")            \
  X(InvalidPc, 718, "invalid program counter")                                                     \
  X(LaunchFailure, 719, "unspecified launch failure")                                              \
  X(CooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                       \
  X(NotPermitted, 800, "operation not permitted")                                                  \
  X(NotSupported, 801, "operation not supported")                                                  \
  X(StreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")             \
  X(StreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")      \
  X(StreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences")    \
  X(StreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")           \
  X(StreamCaptureUnjoined, 904, "capturing stream has unjoined work")                              \
  X(StreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")        \
  X(StreamCaptureImplicit, 906,                                                                    \
    "operation would make the legacy stream depend on a capturing blocking stream")                \
  X(CapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream") \
  X(StreamCaptureWrongThread, 908,                                                                 \
    "attempt to terminate a thread-local capture sequence from another thread")                    \
  X(Timeout, 909, "wait operation timed out")                                                      \
  X(GraphExecUpdateFailure, 910,                                                                   \
    "the graph update was not performed because it included changes which violated constraints "   \
    "specific to instantiated graph update")                                                       \
  X(Unknown, 999, "unknown error")

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
enum cudaError : unsigned int {
  cudaSuccess = 0,
#define CONVLAB_CUDA_ERROR(name, number, text) cudaError##name = (number),
  CONVLAB_CUDA_ERRORS(CONVLAB_CUDA_ERROR)
#undef CONVLAB_CUDA_ERROR
};
using cudaError_t = cudaError;
// NOLINTEND(readability-identifier-naming)
