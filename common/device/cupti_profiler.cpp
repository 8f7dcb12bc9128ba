#include "common/device/cupti_profiler.hpp"

#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "common/base/error.hpp"

namespace convlab {

namespace {

// CUPTI requests buffers, and returns them filled from its own thread.
constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 8;

// CUPTI's functions, found at run time so that no program needs its library to start.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiGetCallbackName) callback_name = nullptr;
};

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMORY2,
                                         CUPTI_ACTIVITY_KIND_RUNTIME};

struct Total {
  int calls = 0;
  std::int64_t bytes = 0;
  std::int64_t nanoseconds = 0;

  void add(std::uint64_t start, std::uint64_t end, std::uint64_t size = 0) {
    ++calls;
    bytes += static_cast<std::int64_t>(size);
    nanoseconds += static_cast<std::int64_t>(end - start);
  }
};

struct Recording {
  std::mutex mutex;
  Cupti cupti;
  std::map<std::string, Total> kernels;
  std::map<std::string, Total> api_calls;
  std::map<std::string, Total> copies;
  std::map<std::uint64_t, std::uint64_t> memory;  // address and bytes of live allocations

  void clear() {
    kernels.clear();
    api_calls.clear();
    copies.clear();
    memory.clear();
  }
};

Recording& recording() {
  static auto* const instance = new Recording;  // CUPTI's thread may outlive static objects
  return *instance;
}

// "conv_forward", without the arguments.
std::string readable(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  std::string text = status == 0 ? name.get() : symbol;
  const std::string anonymous = "(anonymous namespace)::";
  for (auto at = text.find(anonymous); at != std::string::npos; at = text.find(anonymous)) {
    text.erase(at, anonymous.size());
  }
  return text.substr(0, text.find('('));
}

const char* direction_of(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "device to device";
    default:
      return "other";
  }
}

// Each version of a record appends fields. The fields read here are in all versions.
void note(const CUpti_Activity& record) {
  Recording& r = recording();
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel4&>(record);
      r.kernels[readable(kernel.name)].add(kernel.start, kernel.end);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy4&>(record);
      r.copies[direction_of(copy.copyKind)].add(copy.start, copy.end, copy.bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
      const auto& operation = reinterpret_cast<const CUpti_ActivityMemory2&>(record);
      if (operation.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
        r.memory.erase(operation.address);
      } else if (operation.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE ||
                 operation.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) {
        r.memory[operation.address] = operation.bytes;
      }
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto& call = reinterpret_cast<const CUpti_ActivityAPI&>(record);
      const char* name = nullptr;
      r.cupti.callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name);
      std::string text = name == nullptr ? "unknown" : name;
      // "cudaMalloc_v3020": the version in which the call was introduced.
      if (const auto end = text.rfind("_v"); end != std::string::npos) text.erase(end);
      r.api_calls[text].add(call.start, call.end);
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t valid_size) {
  {
    const std::lock_guard lock(recording().mutex);
    CUpti_Activity* record = nullptr;
    while (recording().cupti.next_record(buffer, valid_size, &record) == CUPTI_SUCCESS) {
      note(*record);
    }
  }
  std::free(buffer);
}

void load(Cupti& cupti) {
  void* library = nullptr;
  for (const char* name : {CONVLAB_CUPTI_LIBRARY, "libcupti.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (library == nullptr || !find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks") ||
      !find(cupti.enable, "cuptiActivityEnable") || !find(cupti.disable, "cuptiActivityDisable") ||
      !find(cupti.flush, "cuptiActivityFlushAll") ||
      !find(cupti.next_record, "cuptiActivityGetNextRecord") ||
      !find(cupti.callback_name, "cuptiGetCallbackName")) {
    throw EnvironmentError(
        "A profile needs CUPTI, which comes with the CUDA Toolkit (extras/CUPTI/lib64): "
        "libcupti.so cannot be loaded; put its folder into LD_LIBRARY_PATH.");
  }
}

std::vector<ProfileEntry> entries(const std::map<std::string, Total>& totals) {
  std::vector<ProfileEntry> list;
  for (const auto& [name, total] : totals) list.push_back({name, total.calls, total.nanoseconds});
  return list;
}

}  // namespace

void start_cupti_profile() {
  Cupti& cupti = recording().cupti;
  load(cupti);
  {
    const std::lock_guard lock(recording().mutex);
    recording().clear();
  }
  bool works = cupti.register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind : kKinds) works = works && cupti.enable(kind) == CUPTI_SUCCESS;
  if (!works) {
    throw EnvironmentError(
        "CUPTI refuses to record a profile on this machine; another profiler may be running, or "
        "the driver does not permit it.");
  }
}

Profile stop_cupti_profile() {
  Recording& r = recording();
  for (const CUpti_ActivityKind kind : kKinds) r.cupti.disable(kind);
  r.cupti.flush(1);
  const std::lock_guard lock(r.mutex);
  Profile profile{.kernels = entries(r.kernels), .api_calls = entries(r.api_calls)};
  for (const auto& [direction, total] : r.copies) {
    profile.copies.push_back({direction, total.calls, total.bytes, total.nanoseconds});
  }
  return profile;
}

std::vector<MemoryRange> profiled_memory() {
  Recording& r = recording();
  const std::lock_guard lock(r.mutex);
  std::vector<MemoryRange> ranges;
  for (const auto& [address, bytes] : r.memory) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CUPTI gives addresses as integers.
    ranges.push_back({reinterpret_cast<std::byte*>(address), static_cast<std::int64_t>(bytes)});
  }
  return ranges;
}

}  // namespace convlab
