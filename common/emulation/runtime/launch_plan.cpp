// Turns a launch into work for a stream.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_access.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/host_pointers.hpp"
#include "common/emulation/runtime/kernel_heap.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/stream.hpp"
#include "common/emulation/runtime/withheld.hpp"

namespace convlab::emulation {

std::uint64_t blocks_at_once(const KernelCall& call) {
  int blocks = 0;
  const auto threads = static_cast<int>(call.block.x * call.block.y * call.block.z);
  blocks_per_multiprocessor(&blocks, call.function, threads, call.dynamic_shared_bytes);
  return std::uint64_t(blocks) * std::uint64_t(device_model().multiProcessorCount);
}

namespace {

/// What is known of kernels by their addresses.
struct KnownKernels {
  struct Kernel {
    std::optional<UntypedKernel> untyped;  ///< if it was cast to void*
    std::size_t static_shared = 0;         ///< of its own variables
    std::size_t most_dynamic = 0;          ///< what cudaFuncSetAttribute has allowed
  };
  std::mutex mutex;
  std::map<const void*, Kernel> kernels;
};

std::string name_and_place(const KernelCall& call) {
  return std::string(call.name) + " launched at " + (call.site.file ? call.site.file : "?") + ":" +
         std::to_string(call.site.line);
}

/// Why a GPU refuses the configuration; empty if it accepts it.
std::string configuration_problem(const KernelCall& call) {
  const cudaDeviceProp& model = device_model();
  const dim3& grid = call.grid;
  const dim3& block = call.block;
  const auto limit_of = [](const int(&most)[3]) { return dim3(most[0], most[1], most[2]); };
  const dim3 block_limit = limit_of(model.maxThreadsDim);
  const dim3 grid_limit = limit_of(model.maxGridSize);
  const auto within = [](const dim3& size, const dim3& limit) {
    return size.x <= limit.x && size.y <= limit.y && size.z <= limit.z;
  };
  const auto empty = [](const dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; };
  if (empty(block)) return "a block of " + coordinates(block) + " threads has none";
  if (empty(grid)) return "a grid of " + coordinates(grid) + " blocks has none";
  if (!within(block, block_limit))
    return "a block of " + coordinates(block) + " threads; the limit is " +
           coordinates(block_limit);
  if (const unsigned threads = block.x * block.y * block.z;
      threads > static_cast<unsigned>(model.maxThreadsPerBlock))
    return "a block of " + coordinates(block) + " threads has " + std::to_string(threads) +
           "; the limit is " + std::to_string(model.maxThreadsPerBlock);
  if (!within(grid, grid_limit))
    return "a grid of " + coordinates(grid) + " blocks; the limit is " + coordinates(grid_limit);
  if (constant_bytes() > model.totalConstMem)
    return std::to_string(constant_bytes()) + " bytes of __constant__ variables; the limit is " +
           std::to_string(model.totalConstMem);
  const KernelShared shared = shared_memory_of(call.function);
  if (call.dynamic_shared_bytes <= shared.most_dynamic) return {};
  const bool may_opt_in = shared.limit == model.sharedMemPerBlock &&
                          call.dynamic_shared_bytes + shared.fixed <= model.sharedMemPerBlockOptin;
  const std::string fixed =
      shared.fixed == 0 ? "" : " beside " + std::to_string(shared.fixed) + " of static";
  return std::to_string(call.dynamic_shared_bytes) + " bytes of dynamic" + fixed +
         " shared memory; the limit is " + std::to_string(shared.most_dynamic) +
         (may_opt_in ? ", unless cudaFuncSetAttribute allows the kernel more" : "");
}

void run_kernel(const KernelCall& call) {
  if (device_is_lost()) return;
  std::optional<EmulationReport> failure;
  if (runs_apart()) {
    failure = run_apart(call);
  } else {
    const DeviceAccess access;
    const auto alone = TrueWords::alone();
    TrueWords words(call);
    words.reveal();
    failure = run_here(call);
    words.settle();
  }
  if (failure && failure->error == KernelFault::kInvalidValue) {
    send_report(*failure);
    record_error(cudaErrorInvalidValue);
  } else if (failure) {
    raise_device_fault(*failure);
  }
}

std::vector<PendingLaunch>& pending_launches() {
  thread_local std::vector<PendingLaunch> launches;
  return launches;
}

/// CUDA 13.0 on an H200 says "invalid argument" to all of these.
cudaError_t refuse_launch(const KernelCall& call, const std::string& problem) {
  EmulationReport report = report_about(call, FaultKind::kLaunch);
  report.what = report.text = "invalid launch of " + name_and_place(call) + ": " + problem;
  report.fault.text = problem;
  send_report(report);
  return record_error(cudaErrorInvalidValue);
}

/// What the command of the settings prints: registers of one thread by the name of the kernel.
std::map<std::string, int, std::less<>> ask_registers() {
  std::map<std::string, int, std::less<>> result;
  const std::string& command = settings().registers;
  FILE* output = command.empty() ? nullptr : popen(command.c_str(), "r");
  if (output == nullptr) return result;
  std::array<char, 512> name{};
  for (int number = 0; std::fscanf(output, "%511s %d", name.data(), &number) == 2;)
    result[name.data()] = number;
  pclose(output);
  return result;
}

/// More registers than a multiprocessor has.
cudaError_t register_problem(const KernelCall& call) {
  // Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  constexpr unsigned kUnit = 8;  // in which a thread gets them
  constexpr unsigned kMostOfThread = 255;
  const auto round_up = [](unsigned number) { return (number + kUnit - 1) / kUnit * kUnit; };
  const auto most = static_cast<unsigned>(device_model().regsPerBlock);
  const unsigned warps = (call.block.x * call.block.y * call.block.z + kWarpSize - 1) / kWarpSize;
  // nvcc takes seconds, so it is asked only for blocks that could need too many.
  if (round_up(kMostOfThread) * kWarpSize * warps <= most) return cudaSuccess;
  static const auto kernels = ask_registers();
  std::string_view name = call.name;
  name = name.substr(0, name.find('<'));
  name = name.substr(name.rfind(':') + 1);
  const auto known = kernels.find(name);
  if (known == kernels.end()) return cudaSuccess;
  const unsigned registers = round_up(static_cast<unsigned>(known->second)) * kWarpSize * warps;
  if (registers <= most) return cudaSuccess;
  return refuse(cudaErrorLaunchOutOfResources,
                name_and_place(call) + ": a thread takes " + std::to_string(known->second) +
                    " registers, so a block takes " + std::to_string(registers) +
                    "; the limit is " + std::to_string(most),
                FaultKind::kLaunch);
}

/// Blocks that wait for each other must all be on the device.
cudaError_t cooperative_problem(const KernelCall& call) {
  if (!call.cooperative) return cudaSuccess;
  const std::uint64_t most = blocks_at_once(call);
  const std::uint64_t grid = std::uint64_t{call.grid.x} * call.grid.y * call.grid.z;
  if (grid <= most) return cudaSuccess;
  return refuse(cudaErrorCooperativeLaunchTooLarge,
                "the cooperative launch of " + std::string(call.name) + " has " +
                    std::to_string(grid) + " blocks; the device holds " + std::to_string(most) +
                    " of this size at the same time");
}

/// Sets the action of a launch. @return cudaSuccess, or what is wrong with the launch
/// @param owner  of the call's arguments
cudaError_t plan_kernel(KernelCall call, std::shared_ptr<void> owner,
                        const PointerArgument* pointers, int pointer_count, Action& action) {
  call.shared_limit = shared_memory_of(call.function).limit;
  note_configuration(call);
  if (const std::string problem = configuration_problem(call); !problem.empty())
    return refuse_launch(call, problem);
  if (const cudaError_t problem = register_problem(call); problem != cudaSuccess) return problem;
  if (const cudaError_t problem = cooperative_problem(call); problem != cudaSuccess) return problem;
  if (constexpr std::size_t kMost = 32764; call.parameter_bytes > kMost)
    note_refused_by_nvcc(place_of(call.site), "the arguments of kernel " + std::string(call.name) +
                                                  " take " + std::to_string(call.parameter_bytes) +
                                                  " bytes, and the limit is 32764");
  static std::atomic<std::uint64_t> launches = 0;
  const std::uint64_t launch = ++launches;
  for (int i = 0; i < pointer_count; ++i) {
    const void* const address = const_cast<const void*>(pointers[i].value);
    device_memory().note_argument(address, call.name, pointers[i].position, launch);
    const std::string why = why_no_kernel_may_use(address);
    if (why.empty()) continue;
    // A GPU would fault when the kernel uses the pointer; here it is certain that it is wrong.
    const std::string what = "illegal memory access: argument " +
                             std::to_string(pointers[i].position) + " of " + name_and_place(call) +
                             " " + why;
    const EmulationReport failure{.fault = {.kind = FaultKind::kHostPointer,
                                            .kernel = call.name,
                                            .memory = {.argument = pointers[i].position}},
                                  .error = KernelFault::kIllegalAddress,
                                  .what = what,
                                  .launched_at = place_of(call.site),
                                  .text = what};
    action = [failure] {
      if (!device_is_lost()) raise_device_fault(failure);
    };
    return cudaSuccess;
  }
  forbid_what_host_pointers_reach(call.arguments, call.argument_bytes);
  // A captured kernel runs when its graph is launched, as often as that happens.
  action = [call, owner = std::move(owner), device = device_of_thread()] {
    if (!does_kernel(device, call.name)) return;
    note_launch(call.name);
    run_kernel(call);
  };
  return cudaSuccess;
}

/// Submits the action that `plan` sets, unless `plan` returns an error.
template <typename Plan>
cudaError_t submit(cudaStream_t handle, Plan plan) {
  return with_stream("cudaLaunchKernel", handle, [&](CUstream_st& stream) {
    Action action;
    const cudaError_t problem = plan(action);
    if (problem == cudaSuccess) {
      note_stream(stream.number);
      streams().submit(stream, std::move(action));
    } else if (stream.capture) {
      stream.capture->broken = true;
    }
    return problem;
  });
}

}  // namespace

std::optional<EmulationReport> run_here(const KernelCall& call) {
  const KernelHeapAccess heap;
  if (auto failure = run_grid(call)) return failure;
  const auto damage = device_memory().damage(true, "kernel " + name_and_place(call));
  if (!damage) return std::nullopt;
  EmulationReport report = report_about(call, damage->fault.kind);
  report.what = report.text = damage->what;  // which names kernel and launch
  report.memory = damage->memory;
  report.fault.writes = damage->fault.writes;
  report.error = damage->error;
  return report;
}

bool note_static_shared(const void* kernel, std::size_t bytes) {
  KnownKernels& known = only<KnownKernels>();
  const std::lock_guard lock(known.mutex);
  known.kernels[kernel].static_shared += bytes;
  return true;
}

KernelShared shared_memory_of(const void* function) {
  KnownKernels& known = only<KnownKernels>();
  const std::lock_guard lock(known.mutex);
  const cudaDeviceProp& model = device_model();
  KernelShared shared{.limit = model.sharedMemPerBlock};
  if (function == nullptr) {
    for (const auto& [address, kernel] : known.kernels)
      shared.most_dynamic = std::max(shared.most_dynamic, kernel.most_dynamic);
  } else if (const auto found = known.kernels.find(function); found != known.kernels.end()) {
    shared.fixed = found->second.static_shared;
    shared.most_dynamic = found->second.most_dynamic;
  }
  const std::size_t usual = model.sharedMemPerBlock - shared.fixed;
  if (shared.most_dynamic > usual)
    shared.limit = model.sharedMemPerBlockOptin;
  else
    shared.most_dynamic = usual;
  return shared;
}

void push_launch(const Configuration& configuration, const char* name, const void* function,
                 const void* callable) {
  pending_launches().push_back({KernelCall{configuration, name, function}, callable});
}

PendingLaunch pop_launch() {
  PendingLaunch launch = std::move(pending_launches().back());
  pending_launches().pop_back();
  return launch;
}

cudaError_t submit_kernel(const KernelCall& call, const PointerArgument* pointers,
                          int pointer_count) {
  std::shared_ptr<void> owner(call.arguments, call.destroy);
  return submit(call.stream, [&](Action& action) {
    return plan_kernel(call, std::move(owner), pointers, pointer_count, action);
  });
}

void register_kernel(const void* function, const UntypedKernel& kernel) {
  KnownKernels& known = only<KnownKernels>();
  const std::lock_guard lock(known.mutex);
  // The first registration has the name as the source writes it: keep that.
  auto& untyped = known.kernels[function].untyped;
  if (!untyped) untyped = kernel;
}

cudaError_t plan_untyped(const void* function, void** arguments, const Configuration& configuration,
                         Action& action) {
  if (function == nullptr) return record_error(cudaErrorInvalidDeviceFunction);
  std::optional<UntypedKernel> kernel;
  {
    KnownKernels& known = only<KnownKernels>();
    const std::lock_guard lock(known.mutex);
    const auto found = known.kernels.find(function);
    if (found != known.kernels.end()) kernel = found->second.untyped;
  }
  if (!kernel)
    return refuse(cudaErrorInvalidDeviceFunction,
                  "no kernel is known at this address: emulation learns what a kernel takes where "
                  "its name is cast, as in cudaLaunchKernel((void*)kernel, …)");
  if (kernel->parameters != 0 && arguments == nullptr) return record_error(cudaErrorInvalidValue);
  std::vector<PointerArgument> pointers(static_cast<std::size_t>(kernel->parameters) + 1);
  KernelCall call{configuration, kernel->name, function};
  const int count = kernel->bind(function, arguments, call, pointers.data());
  std::shared_ptr<void> owner(call.arguments, call.destroy);
  return plan_kernel(call, std::move(owner), pointers.data(), count, action);
}

cudaError_t launch_untyped(const void* function, void** arguments,
                           const Configuration& configuration) {
  return submit(configuration.stream, [&](Action& action) {
    return plan_untyped(function, arguments, configuration, action);
  });
}

cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (function == nullptr) return record_error(cudaErrorInvalidDeviceFunction);
  constexpr unsigned kAttributes = 16;
  if (attribute >= kAttributes) return record_error(cudaErrorInvalidValue);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const auto limit = static_cast<int>(device_model().sharedMemPerBlockOptin) -
                     static_cast<int>(shared_memory_of(function).fixed);
  if (value < 0 || value > limit)
    return refuse(cudaErrorInvalidValue,
                  "cudaFuncSetAttribute asks for " + std::to_string(value) +
                      " bytes of dynamic shared memory; the limit is " + std::to_string(limit),
                  FaultKind::kLaunch);
  KnownKernels& known = only<KnownKernels>();
  const std::lock_guard lock(known.mutex);
  known.kernels[function].most_dynamic = static_cast<std::size_t>(value);
  return cudaSuccess;
}

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (attributes == nullptr) return record_error(cudaErrorInvalidValue);
  if (function == nullptr) return record_error(cudaErrorInvalidDeviceFunction);
  const cudaDeviceProp& model = device_model();
  *attributes = {};
  attributes->maxThreadsPerBlock = model.maxThreadsPerBlock;
  attributes->ptxVersion = model.major * 10 + model.minor;
  attributes->binaryVersion = attributes->ptxVersion;
  const KernelShared shared = shared_memory_of(function);
  attributes->sharedSizeBytes = shared.fixed;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared.most_dynamic);
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return cudaSuccess;
}

}  // namespace convlab::emulation
