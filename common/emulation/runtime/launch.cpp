// From a launch to work in a stream.

#include "common/emulation/include/convlab_emulation/launch.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/device_model.hpp"
#include "common/emulation/runtime/grid_runner.hpp"
#include "common/emulation/runtime/launch.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/stream.hpp"
#include "common/emulation/runtime/symbol_table.hpp"

namespace convlab::emulation {
namespace {

/// What cudaFuncSetAttribute has allowed.
class SharedMemoryOptIns {
 public:
  void set(const void* function, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    allowed_[function] = bytes;
  }
  /// A launch of a deduced template does not know its function: the largest permission holds.
  std::size_t of(const void* function) {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = device_model().shared_per_block;
    for (const auto& [owner, allowed] : allowed_)
      if (function == nullptr || owner == function) bytes = std::max(bytes, allowed);
    return bytes;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::size_t> allowed_;
};

SharedMemoryOptIns& opt_ins() {
  static SharedMemoryOptIns instance;
  return instance;
}

std::string place(const KernelCall& call) {
  return std::string(call.name) + " launched at " + (call.site.file ? call.site.file : "?") + ":" +
         std::to_string(call.site.line);
}

cudaError_t check_configuration(const KernelCall& call) {
  const DeviceModel& model = device_model();
  const dim3& grid = call.grid;
  const dim3& block = call.block;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  const bool block_fits = threads != 0 && block.x <= model.max_block_x &&
                          block.y <= model.max_block_y && block.z <= model.max_block_z &&
                          threads <= static_cast<std::size_t>(model.max_threads_per_block);
  const bool grid_fits = grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= model.max_grid_x &&
                         grid.y <= model.max_grid_y && grid.z <= model.max_grid_z;
  const bool shared_fits = call.dynamic_shared_bytes <= call.shared_limit;
  // CUDA 13.0 on an H200 says "invalid argument" to all of these.
  return block_fits && grid_fits && shared_fits ? cudaSuccess : cudaErrorInvalidValue;
}

void run_kernel(const KernelCall& call) {
  if (device_is_lost()) return;
  const DeviceAccess access;
  if (const auto failure = GridRunner::instance().run(call)) {
    if (failure->error == KernelFault::kInvalidValue)
      refuse(cudaErrorInvalidValue, failure->report);
    else
      raise_device_fault(*failure);
    return;
  }
  const std::string damage = DeviceMemory::instance().damage(true, "kernel " + place(call));
  if (!damage.empty()) raise_device_fault({KernelFault::kIllegalAddress, damage});
}

/// What a launch puts into its stream, or what is wrong with it.
cudaError_t plan_kernel(KernelCall call, const PointerArgument* pointers, int pointer_count,
                        Action& action) {
  call.shared_limit = opt_ins().of(call.function);
  const cudaError_t problem = check_configuration(call);
  if (problem != cudaSuccess) return record_error(problem);
  if (constant_bytes() > device_model().constant_bytes)
    return refuse(cudaErrorInvalidKernelImage,
                  "the __constant__ variables of a file have " + std::to_string(constant_bytes()) +
                      " bytes; a GPU has " + std::to_string(device_model().constant_bytes));
  const auto* const end = pointers + pointer_count;
  const auto* const foreign = std::find_if(pointers, end, [](const PointerArgument& argument) {
    return !kernel_may_use(const_cast<const void*>(argument.value));
  });
  if (foreign != end) {
    // A GPU would fault when the kernel uses the pointer; here it is certain that it is wrong.
    const KernelFailure failure{KernelFault::kIllegalAddress,
                                "illegal memory access: argument " +
                                    std::to_string(foreign->position) + " of " + place(call) +
                                    " points to host memory; copy the data to the device first"};
    action = [failure] {
      if (!device_is_lost()) raise_device_fault(failure);
    };
    return cudaSuccess;
  }
  note_launch(call.name);
  action = [call = std::move(call)] { run_kernel(call); };
  return cudaSuccess;
}

/// Kernels that were cast to void*, by their addresses.
class UntypedKernels {
 public:
  void add(const void* function, const UntypedKernel& kernel) {
    const std::lock_guard lock(mutex_);
    // Only the first name came from the source; cudaLaunchKernel adds its own.
    kernels_.emplace(function, kernel);
  }
  std::optional<UntypedKernel> find(const void* function) {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(function);
    if (found == kernels_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, UntypedKernel> kernels_;
};

UntypedKernels& untyped_kernels() {
  static UntypedKernels instance;
  return instance;
}

}  // namespace

cudaError_t submit_kernel(KernelCall call, const PointerArgument* pointers, int pointer_count,
                          cudaStream_t handle) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  CUstream_st* const stream = StreamScheduler::instance().resolve(handle);
  if (stream == nullptr) return record_error(cudaErrorInvalidResourceHandle);
  Action action;
  const cudaError_t problem = plan_kernel(std::move(call), pointers, pointer_count, action);
  if (problem == cudaSuccess) StreamScheduler::instance().submit(*stream, std::move(action));
  return problem;
}

void register_kernel(const void* function, const UntypedKernel& kernel) {
  untyped_kernels().add(function, kernel);
}

cudaError_t plan_untyped(const void* function, void** arguments, const LaunchSetup& setup,
                         Action& action) {
  if (function == nullptr) return record_error(cudaErrorInvalidDeviceFunction);
  const auto kernel = untyped_kernels().find(function);
  if (!kernel)
    return refuse(cudaErrorInvalidDeviceFunction,
                  "no kernel is known at this address: emulation learns what a kernel takes where "
                  "its name is cast, as in cudaLaunchKernel((void*)kernel, …)");
  if (kernel->parameters != 0 && arguments == nullptr) return record_error(cudaErrorInvalidValue);
  std::vector<PointerArgument> pointers(static_cast<std::size_t>(kernel->parameters) + 1);
  KernelCall call;
  call.name = kernel->name;
  call.site = setup.site;
  call.function = function;
  call.grid = setup.grid;
  call.block = setup.block;
  call.dynamic_shared_bytes = setup.dynamic_shared;
  const int count = kernel->bind(function, arguments, call, pointers.data());
  return plan_kernel(std::move(call), pointers.data(), count, action);
}

cudaError_t launch_untyped(const void* function, void** arguments, const LaunchSetup& setup,
                           cudaStream_t handle) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  CUstream_st* const stream = StreamScheduler::instance().resolve(handle);
  if (stream == nullptr) return record_error(cudaErrorInvalidResourceHandle);
  Action action;
  const cudaError_t problem = plan_untyped(function, arguments, setup, action);
  if (problem == cudaSuccess) StreamScheduler::instance().submit(*stream, std::move(action));
  return problem;
}

cudaError_t check_launch_attributes(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0)
      return refuse(cudaErrorNotSupported,
                    "synchronization of a whole grid cannot be emulated: launch two kernels");
    const auto& cluster = attribute.val.clusterDim;
    if (attribute.id == cudaLaunchAttributeClusterDimension &&
        cluster.x * cluster.y * cluster.z != 1)
      return refuse(cudaErrorNotSupported, "clusters of blocks cannot be emulated");
  }
  return cudaSuccess;
}

cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (function == nullptr) return record_error(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const auto limit = static_cast<int>(device_model().shared_per_block_optin);
  if (value < 0 || value > limit) return record_error(cudaErrorInvalidValue);
  opt_ins().set(function, static_cast<std::size_t>(value));
  return cudaSuccess;
}

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return record_error(cudaErrorInvalidValue);
  if (function == nullptr) return record_error(cudaErrorInvalidDeviceFunction);
  const DeviceModel& model = device_model();
  *attributes = {};
  attributes->maxThreadsPerBlock = model.max_threads_per_block;
  attributes->ptxVersion = model.major * 10 + model.minor;
  attributes->binaryVersion = attributes->ptxVersion;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(opt_ins().of(function));
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return cudaSuccess;
}

}  // namespace convlab::emulation
