#include <string>
#include <string_view>

#include "common/device/cuda_check.cuh"
#include "common/device/device_session.hpp"

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

/// What an error usually means.
struct Meaning {
  cudaError_t error;
  FaultKind kind;
  ExitCode exit_code;
  const char* hint;  ///< what usually causes it, and one next step
};

constexpr ExitCode kWork = ExitCode::kFallsShort;
constexpr ExitCode kMachine = ExitCode::kEnvironment;
constexpr const char* kMemoryHint =
    CONVLAB_EMULATED ? "A kernel accessed memory outside of its arrays. Check the index in the "
                       "line that is named above."
                     : "A kernel accessed memory outside of its arrays; it may be an earlier "
                       "kernel. Check the bounds of every index. To see the line, run it emulated "
                       "(--device emulated), or under compute-sanitizer.";
constexpr const char* kOtherGpuHint =
    "The program was built for other GPUs; configure it again on this machine.";

constexpr Meaning kMeanings[] = {
    {cudaErrorMemoryAllocation, FaultKind::kOutOfMemory, kMachine,
     "Take a smaller batch, work on it in slices, or free what is no longer needed."},
    {cudaErrorInvalidConfiguration, FaultKind::kLaunch, kWork,
     "Usually grid.y or grid.z is above 65535 (put the large number into grid.x), a block has more "
     "than 1024 threads, or a size is zero."},
    {cudaErrorInvalidValue, FaultKind::kException, kWork,
     "Usually a size or a pointer is wrong, the direction of a copy does not fit its pointers, or "
     "a launch asks for too much: grid.y or grid.z above 65535 (put the large number into grid.x), "
     "a block of more than 1024 threads, a size of zero, or more than 48 KiB of shared memory "
     "without cudaFuncSetAttribute."},
    {cudaErrorMisalignedAddress, FaultKind::kException, kWork,
     "A kernel accessed a float4 or another vector at an address that is not a multiple of its "
     "size. Every row must begin at such an address, or load the elements one by one."},
    {cudaErrorIllegalAddress, FaultKind::kDeviceMemory, kWork, kMemoryHint},
    {cudaErrorLaunchFailure, FaultKind::kDeviceMemory, kWork, kMemoryHint},
    {cudaErrorLaunchOutOfResources, FaultKind::kException, kWork,
     "A block of this size needs more registers than a multiprocessor has: use fewer threads per "
     "block, or __launch_bounds__."},
    {cudaErrorInvalidMemcpyDirection, FaultKind::kException, kWork,
     "The kind of copy (cudaMemcpyHostToDevice, …) does not fit the two pointers."},
    {cudaErrorAssert, FaultKind::kException, kWork,
     "An assert() in a kernel failed; the line above names it."},
    {cudaErrorLaunchTimeout, FaultKind::kException, kWork,
     "The kernel ran too long. Usually a loop in it never ends."},
    {cudaErrorInvalidSymbol, FaultKind::kException, kWork,
     "The name must be that of a __constant__ or __device__ variable of the same file."},
    {cudaErrorNoDevice, FaultKind::kException, kMachine,
     "This machine has no CUDA GPU; run it emulated (--device emulated)."},
    {cudaErrorInsufficientDriver, FaultKind::kException, kMachine,
     "The driver is older than the CUDA Toolkit that built this program, or there is none: update "
     "the driver, build with an older Toolkit, or run it emulated (--device emulated)."},
    {cudaErrorInitializationError, FaultKind::kException, kMachine, ""},
    {cudaErrorNoKernelImageForDevice, FaultKind::kException, kMachine, kOtherGpuHint},
    {cudaErrorInvalidDeviceFunction, FaultKind::kException, kWork, kOtherGpuHint},
};

std::string free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  return std::to_string(free / 1'000'000) + " MB of " + std::to_string(total / 1'000'000) +
         " MB are free. ";
}

[[noreturn]] void fail(cudaError_t error, const std::string& what, bool of_launch,
                       FaultRecord fault = {}) {
  Meaning meaning{error, FaultKind::kException, kWork, ""};
  for (const Meaning& each : kMeanings) {
    if (each.error == error) meaning = each;
  }
  // This is what CUDA says of sizes, too.
  if (of_launch && error == cudaErrorInvalidValue) meaning.kind = FaultKind::kLaunch;
  std::string hint = meaning.hint;
  if (error == cudaErrorMemoryAllocation) hint = free_memory() + hint;
  cudaGetLastError();  // clears the reported error for the next launch's check
  const std::string why = std::string(" failed: ") + cudaGetErrorString(error) + " (" +
                          cudaGetErrorName(error) + ")." + (hint.empty() ? "" : " " + hint);
  fault.kind = meaning.kind;
  if (!fault.call.empty()) fault.text = fault.call.substr(0, fault.call.find('(')) + why;
  throw DeviceError(meaning.exit_code, what + why, std::move(fault));
}

std::string text_of(dim3 size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

}  // namespace

void check_cuda_call(cudaError_t error, const char* call, SourceLine where) {
  if (error == cudaSuccess) return;
  const std::string file = where.file;
  fail(error, text_of(where) + ": " + call, false,
       {.file = file.substr(file.rfind('/') + 1), .line = where.line, .call = call});
}

void check_cuda_launch(dim3 grid, dim3 block, std::size_t shared_bytes, SourceLine where) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  std::string what = text_of(where) + ": the kernel launch with a grid of " + text_of(grid) +
                     " blocks of " + text_of(block) + " threads";
  if (shared_bytes > 0) {
    what += " and " + std::to_string(shared_bytes) + " bytes of shared memory";
  }
  fail(error, what, true);
}

void check_device(const char* phase) {
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return;
  fail(error, "Something that " + std::string(phase) + " started on the device", true);
}

}  // namespace convlab
