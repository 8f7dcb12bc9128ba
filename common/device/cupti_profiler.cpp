#include "common/base/error.hpp"
#include "common/device/cuda_session.hpp"

#if !__has_include(<cupti.h>)  // reduced installations of the CUDA Toolkit lack it

namespace convlab {

void start_cupti_profile() {
  throw EnvironmentError(
      "This build cannot profile, because cupti.h was not found: install the part of the CUDA "
      "Toolkit that has it (extras/CUPTI, package cuda-cupti-dev) and configure again.");
}

Profile stop_cupti_profile() {
  return {};
}

std::vector<MemoryRange> profiled_memory() {
  return {};
}

}  // namespace convlab

#else

#include <cupti.h>
#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "common/base/library_function.hpp"

namespace convlab {

namespace {

// CUPTI requests buffers, and returns them filled from its own thread.
constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 8;

template <class Function>
Function* in_cupti(const char* name) {
  Function* const found = library_function<Function>(CONVLAB_CUPTI_LIBRARY, name);
  return found != nullptr ? found : library_function<Function>("libcupti.so", name);
}

// CUPTI's functions, found at run time so that no program needs its library to start.
#define CONVLAB_IN_CUPTI(function) in_cupti<decltype(function)>(#function)
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks =
      CONVLAB_IN_CUPTI(cuptiActivityRegisterCallbacks);
  decltype(&cuptiActivityEnable) enable = CONVLAB_IN_CUPTI(cuptiActivityEnable);
  decltype(&cuptiActivityDisable) disable = CONVLAB_IN_CUPTI(cuptiActivityDisable);
  decltype(&cuptiActivityFlushAll) flush = CONVLAB_IN_CUPTI(cuptiActivityFlushAll);
  decltype(&cuptiActivityGetNextRecord) next_record = CONVLAB_IN_CUPTI(cuptiActivityGetNextRecord);
  decltype(&cuptiGetCallbackName) callback_name = CONVLAB_IN_CUPTI(cuptiGetCallbackName);
};

const Cupti& cupti() {
  static const Cupti functions;
  return functions;
}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMORY2,
                                         CUPTI_ACTIVITY_KIND_RUNTIME};

using Totals = std::map<std::string, ProfileEntry>;

struct Records {
  Totals kernels;
  Totals api_calls;
  Totals copies;
  std::map<std::uint64_t, std::uint64_t> memory;  // address and bytes of live allocations
};

struct Recording : Records {
  std::mutex mutex;
};

Recording& recording() {
  static auto* const instance = new Recording;  // CUPTI's thread may outlive static objects
  return *instance;
}

template <class Record>
void add(Totals& totals, const std::string& name, const Record& record, std::uint64_t bytes = 0) {
  ProfileEntry& total = totals[name];
  total.name = name;
  ++total.calls;
  total.nanoseconds += static_cast<std::int64_t>(record.end - record.start);
  total.bytes += static_cast<std::int64_t>(bytes);
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
  return kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "host to device"
         : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "device to host"
         : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD ? "device to device"
                                                   : "other";
}

// Each version of a record appends fields. The fields read here are in all versions.
void note(const CUpti_Activity& record) {
  Recording& r = recording();
  if (record.kind == CUPTI_ACTIVITY_KIND_KERNEL ||
      record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel4&>(record);
    add(r.kernels, readable(kernel.name), kernel);
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy4&>(record);
    add(r.copies, direction_of(copy.copyKind), copy, copy.bytes);
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
    const auto& operation = reinterpret_cast<const CUpti_ActivityMemory2&>(record);
    if (operation.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
      r.memory.erase(operation.address);
    } else if (operation.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE ||
               operation.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) {
      r.memory[operation.address] = operation.bytes;
    }
  } else if (record.kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    const auto& call = reinterpret_cast<const CUpti_ActivityAPI&>(record);
    const char* name = nullptr;
    cupti().callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name);
    // "cudaMalloc_v3020": the version in which the call was introduced.
    const std::string text = name == nullptr ? "unknown" : name;
    add(r.api_calls, text.substr(0, text.rfind("_v")), call);
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t valid_size) {
  const std::lock_guard lock(recording().mutex);
  CUpti_Activity* record = nullptr;
  while (cupti().next_record(buffer, valid_size, &record) == CUPTI_SUCCESS) note(*record);
  std::free(buffer);
}

std::vector<ProfileEntry> entries(const Totals& totals) {
  std::vector<ProfileEntry> list;
  for (const auto& [name, total] : totals) list.push_back(total);
  return list;
}

}  // namespace

void start_cupti_profile() {
  const Cupti& c = cupti();
  if (!c.register_callbacks || !c.enable || !c.disable || !c.flush || !c.next_record ||
      !c.callback_name) {
    throw EnvironmentError(
        "A profile needs CUPTI, which comes with the CUDA Toolkit (extras/CUPTI/lib64): "
        "libcupti.so cannot be loaded; put its folder into LD_LIBRARY_PATH.");
  }
  {
    const std::lock_guard lock(recording().mutex);
    static_cast<Records&>(recording()) = {};
  }
  bool works = c.register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind : kKinds) works = works && c.enable(kind) == CUPTI_SUCCESS;
  if (!works) {
    throw EnvironmentError(
        "CUPTI refuses to record a profile on this machine; another profiler may be running, or "
        "the driver does not permit it.");
  }
}

Profile stop_cupti_profile() {
  Recording& r = recording();
  for (const CUpti_ActivityKind kind : kKinds) cupti().disable(kind);
  cupti().flush(1);
  const std::lock_guard lock(r.mutex);
  return {.kernels = entries(r.kernels),
          .api_calls = entries(r.api_calls),
          .copies = entries(r.copies)};
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

#endif
