#include <string>
#include <string_view>

#include "common/device/cuda_check.cuh"
#include "common/device/device_error.hpp"

namespace convlab {

namespace {

constexpr std::string_view kThisFile = "common/device/cuda_check.cu";

// "milestones/m2_gpu_baseline/conv_forward.cu:57", whatever folder the compiler was given.
std::string text_of(SourceLine where) {
  constexpr std::string_view here = __FILE__;
  std::string_view file = where.file;
  if (here.size() > kThisFile.size()) {
    const std::string_view root = here.substr(0, here.size() - kThisFile.size());
    if (file.substr(0, root.size()) == root) file.remove_prefix(root.size());
  }
  return std::string(file) + ":" + std::to_string(where.line);
}

std::string size_text(std::size_t bytes) {
  return std::to_string(bytes / 1'000'000) + " MB";
}

std::string out_of_memory_hint() {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  return size_text(free) + " of " + size_text(total) +
         " are free. Take a smaller batch, work on it in slices, or free what is no longer needed.";
}

// What usually causes an error, and one next step.
std::string hint_for(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return out_of_memory_hint();
    case cudaErrorInvalidConfiguration:
      return "Usually grid.y or grid.z is above 65535 (put the large number into grid.x), a block "
             "has more than 1024 threads, or a size is zero.";
    case cudaErrorLaunchOutOfResources:
      return "A block of this size needs more registers than a multiprocessor has: use fewer "
             "threads per block, or __launch_bounds__.";
    case cudaErrorInvalidValue:
      return "Usually a size or a pointer is wrong, the direction of a copy does not fit its "
             "pointers, or a launch asks for too much: grid.y or grid.z above 65535 (put the large "
             "number into grid.x), a block of more than 1024 threads, a size of zero, or more than "
             "48 KiB of shared memory without cudaFuncSetAttribute.";
    case cudaErrorInvalidMemcpyDirection:
      return "The kind of copy (cudaMemcpyHostToDevice, …) does not fit the two pointers.";
    case cudaErrorMisalignedAddress:
      return "A kernel accessed a float4 or another vector at an address that is not a multiple of "
             "its size. Every row must begin at such an address, or load the elements one by one.";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
      return CONVLAB_EMULATED
                 ? "A kernel accessed memory outside of its arrays. Check the index in the "
                   "line that is named above."
                 : "A kernel accessed memory outside of its arrays; it may be an earlier kernel. "
                   "Check the bounds of every index. To see the line, run it emulated (--device "
                   "emulated), or under compute-sanitizer.";
    case cudaErrorAssert:
      return "An assert() in a kernel failed; the line above names it.";
    case cudaErrorLaunchTimeout:
      return "The kernel ran too long. Usually a loop in it never ends.";
    case cudaErrorInvalidSymbol:
      return "The name must be that of a __constant__ or __device__ variable of the same file.";
    case cudaErrorNoDevice:
      return "This machine has no CUDA GPU; run it emulated (--device emulated).";
    case cudaErrorInsufficientDriver:
      return "The driver is older than the CUDA Toolkit that built this program, or there is none: "
             "update the driver, build with an older Toolkit, or run it emulated "
             "(--device emulated).";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return "The program was built for other GPUs; configure it again on this machine.";
    default:
      return {};
  }
}

bool is_environment(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorNoKernelImageForDevice:
      return true;
    default:
      return false;
  }
}

FaultKind kind_of(cudaError_t error, bool of_launch) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return FaultKind::kOutOfMemory;
    case cudaErrorInvalidConfiguration:
      return FaultKind::kLaunch;
    case cudaErrorInvalidValue:  // what CUDA says of sizes, too
      return of_launch ? FaultKind::kLaunch : FaultKind::kException;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
      return FaultKind::kDeviceMemory;
    default:
      return FaultKind::kException;
  }
}

[[noreturn]] void fail(cudaError_t error, const std::string& what, const std::string& hint,
                       FaultKind kind) {
  const std::string message = what + " failed: " + cudaGetErrorString(error) + " (" +
                              cudaGetErrorName(error) + ")." + (hint.empty() ? "" : " " + hint);
  throw DeviceError(is_environment(error) ? ExitCode::kEnvironment : ExitCode::kFallsShort, message,
                    kind);
}

std::string text_of(dim3 size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

}  // namespace

void check_cuda_call(cudaError_t error, const char* call, SourceLine where) {
  if (error == cudaSuccess) return;
  const std::string hint = hint_for(error);
  cudaGetLastError();  // clears the reported error for the next launch's check
  fail(error, text_of(where) + ": " + call, hint, kind_of(error, false));
}

void check_cuda_launch(dim3 grid, dim3 block, std::size_t shared_bytes, SourceLine where) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  std::string what = text_of(where) + ": the kernel launch with a grid of " + text_of(grid) +
                     " blocks of " + text_of(block) + " threads";
  if (shared_bytes > 0) {
    what += " and " + std::to_string(shared_bytes) + " bytes of shared memory";
  }
  fail(error, what, hint_for(error), kind_of(error, true));
}

void check_device(const char* phase) {
  const std::string what = "Something that " + std::string(phase) + " started on the device";
  const cudaError_t launch = cudaGetLastError();
  if (launch != cudaSuccess) fail(launch, what, hint_for(launch), kind_of(launch, true));
  const cudaError_t kernel = cudaDeviceSynchronize();
  if (kernel != cudaSuccess) fail(kernel, what, hint_for(kernel), kind_of(kernel, true));
}

}  // namespace convlab
