// What the runtime API answers when something is wrong: after a fault, and to wrong calls. A fault
// ends the context of its process, so that each has a process of its own. At most eight answers a
// feature: the results of a run show so many words.

#include <cstdint>

#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {
namespace {

__constant__ int taps[10];

__global__ void write_at(int* data, long long index) { data[index] = 1; }
__global__ void nothing() {}

/// Notes answers one by one.
class Answers {
 public:
  Answers& operator<<(cudaError_t error) {
    bits_.push_back(static_cast<std::uint32_t>(error));
    return *this;
  }
  operator Bits() const { return bits_; }

 private:
  Bits bits_;
};

/// Takes the last error of each call away.
class Calls : public Answers {
 public:
  Calls& operator<<(cudaError_t error) {
    Answers::operator<<(error);
    cudaGetLastError();
    return *this;
  }
};

struct Errors : OwnProcess {
  template <class Noted>
  static std::function<Bits()> noted(void (*note)(Noted&)) {
    return [note] {
      Noted answers;
      note(answers);
      return Bits(answers);
    };
  }
  Errors(const char* name, void (*note)(Answers&)) : OwnProcess("errors", name, noted(note)) {}
  Errors(const char* name, void (*note)(Calls&)) : OwnProcess("errors", name, noted(note)) {}
};

int* integers(std::size_t count = 256) {
  int* data = nullptr;
  require(cudaMalloc(&data, count * sizeof(int)), "cudaMalloc");
  require(cudaMemset(data, 0, count * sizeof(int)), "cudaMemset");
  return data;
}

/// Leaves a context that an illegal access has ended.
int* after_illegal_access() {
  int* const data = integers();
  write_at<<<1, 1>>>(data, 1LL << 40);
  cudaDeviceSynchronize();
  return data;
}

// ---- after a fault ------------------------------------------------------------------------------

const Errors kState{"the last error before and after an illegal access", [](Answers& answers) {
  int* const data = integers();
  void* more = nullptr;
  write_at<<<1, 1>>>(data, 1LL << 40);
  answers << cudaGetLastError();
  answers << cudaDeviceSynchronize();
  answers << cudaGetLastError();
  answers << cudaGetLastError();
  answers << cudaPeekAtLastError();
  answers << cudaMalloc(&more, 4);
  answers << cudaFree(nullptr);
  answers << cudaDeviceSynchronize();
}};

const Errors kMemory{"memory and copies after an illegal access", [](Answers& answers) {
  int* const data = after_illegal_access();
  static int host[1024];
  void* more = nullptr;
  answers << cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost);
  answers << cudaMemset(data, 0, 4);
  answers << cudaMallocHost(&more, 4);
  answers << cudaFreeHost(nullptr);
  answers << cudaMallocManaged(&more, 4);
  answers << cudaHostRegister(host, sizeof host, cudaHostRegisterDefault);
  answers << cudaFree(data);
  answers << cudaMemcpyToSymbol(taps, host, 4);
}};

const Errors kHandles{"streams and events after an illegal access", [](Answers& answers) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  require(cudaStreamCreate(&stream), "stream");
  require(cudaEventCreate(&event), "event");
  after_illegal_access();
  cudaStream_t other = nullptr;
  answers << cudaStreamCreate(&other);
  answers << cudaStreamSynchronize(stream);
  answers << cudaStreamQuery(stream);
  answers << cudaEventRecord(event, stream);
  answers << cudaEventQuery(event);
  answers << cudaEventSynchronize(event);
  answers << cudaEventDestroy(event);
  answers << cudaStreamDestroy(stream);
}};

const Errors kQueries{"queries after an illegal access", [](Answers& answers) {
  after_illegal_access();
  int value = 0;
  std::size_t free = 0;
  std::size_t total = 0;
  cudaDeviceProp properties;
  answers << cudaGetDevice(&value);
  answers << cudaGetDeviceCount(&value);
  answers << cudaSetDevice(0);
  answers << cudaGetDeviceProperties(&properties, 0);
  answers << cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
  answers << cudaMemGetInfo(&free, &total);
  answers << cudaRuntimeGetVersion(&value);
  answers << cudaDeviceSetLimit(cudaLimitStackSize, 2048);
}};

const Errors kLaunches{"launches and functions after an illegal access", [](Answers& answers) {
  int* const data = after_illegal_access();
  cudaFuncAttributes attributes;
  cudaPointerAttributes pointer;
  int blocks = 0;
  nothing<<<1, 1>>>();
  answers << cudaGetLastError();
  nothing<<<1, 2000>>>();
  answers << cudaGetLastError();
  answers << cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
  answers << cudaFuncGetAttributes(&attributes, nothing);
  answers << cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 128, 0);
  answers << cudaPointerGetAttributes(&pointer, data);
  answers << cudaPeekAtLastError();
  answers << cudaGetLastError();
}};

const Errors kReset{"cudaDeviceReset after an illegal access", [](Answers& answers) {
  after_illegal_access();
  int value = 0;
  int* data = nullptr;
  answers << cudaDeviceReset();
  answers << cudaGetLastError();
  answers << cudaMalloc(&data, 1024);
  answers << cudaGetLastError();
  answers << cudaSetDevice(0);
  answers << cudaMalloc(&data, 1024);
  answers << cudaGetDevice(&value);
}};

const Errors kFreed{"cudaFree while a kernel faults", [](Answers& answers) {
  int* const data = integers();
  int* const other = integers();
  write_at<<<1, 1>>>(data, 1LL << 40);
  answers << cudaFree(other);
  answers << cudaGetLastError();
}};

// ---- wrong calls --------------------------------------------------------------------------------

const Errors kCopies{"wrong copies", [](Calls& calls) {
  int* const data = integers();
  static int host[512];
  calls << cudaMemcpy(data, host, 1028, cudaMemcpyHostToDevice);
  calls << cudaMemcpy(data + 250, host, 28, cudaMemcpyHostToDevice);
  calls << cudaMemcpy(data, host, 64, cudaMemcpyDeviceToHost);
  calls << cudaMemcpy(host, data, 64, cudaMemcpyHostToDevice);
  calls << cudaMemcpy(nullptr, data, 64, cudaMemcpyDeviceToHost);
  calls << cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice);
  calls << cudaMemcpy(data, host, 0, static_cast<cudaMemcpyKind>(9));
  calls << cudaMemset(data, 0, 1028);
}};

const Errors kDirections{"directions that do not fit the pointers", [](Calls& calls) {
  int* const data = integers();
  int* const other = integers();
  void* pinned = nullptr;
  static int host[64];
  require(cudaMallocHost(&pinned, 64), "cudaMallocHost");
  calls << cudaMemcpy(other, data, 4, cudaMemcpyHostToDevice);
  calls << cudaMemcpy(other, data, 4, cudaMemcpyDeviceToHost);
  calls << cudaMemcpy(host, data, 4, cudaMemcpyHostToHost);
  calls << cudaMemcpy(other, host, 4, cudaMemcpyDeviceToDevice);
  calls << cudaMemcpy(host, host + 8, 4, cudaMemcpyHostToDevice);
  calls << cudaMemcpy(pinned, host, 4, cudaMemcpyDeviceToDevice);
  calls << cudaMemcpy(pinned, host, 4, cudaMemcpyHostToDevice);
  calls << cudaMemcpyFromSymbol(data, taps, 4, 0, cudaMemcpyDeviceToHost);
}};

const Errors kSymbols{"wrong copies of symbols", [](Calls& calls) {
  int* const data = integers();
  static int host[512];
  calls << cudaMemcpy(taps, host, 40, cudaMemcpyHostToDevice);
  calls << cudaMemset(taps, 0, 40);
  calls << cudaMemcpyToSymbol(taps, host, 40, 4);
  calls << cudaMemcpyToSymbol(taps, host, 4, SIZE_MAX - 3);
  calls << cudaMemcpyToSymbol(taps, host, 4, 0, cudaMemcpyDeviceToHost);
  calls << cudaMemcpyToSymbol(taps, host, 4, 0, cudaMemcpyDeviceToDevice);
  calls << cudaMemcpyToSymbol(taps, data, 4, 0, cudaMemcpyHostToDevice);
  calls << cudaMemcpyFromSymbol(host, taps, 44);
}};

const Errors kSizes{"sizes and flags of memory", [](Calls& calls) {
  void* data = nullptr;
  std::size_t pitch = 0;
  calls << cudaMallocPitch(&data, &pitch, SIZE_MAX, 1);
  calls << cudaMallocPitch(&data, &pitch, std::size_t{1} << 40, std::size_t{1} << 40);
  calls << cudaMallocHost(&data, SIZE_MAX);
  calls << cudaMallocHost(&data, 0);
  calls << cudaMallocManaged(&data, 0);
  calls << cudaMallocManaged(&data, SIZE_MAX);
  calls << cudaHostAlloc(&data, 16, 77777);
  calls << cudaMalloc(static_cast<void**>(nullptr), 4);
}};

const Errors kFrees{"wrong frees", [](Calls& calls) {
  int* const data = integers();
  void* pinned = nullptr;
  static int host[4];
  require(cudaMallocHost(&pinned, 64), "cudaMallocHost");
  calls << cudaFree(data + 1);
  calls << cudaFree(host);
  calls << cudaFree(pinned);
  calls << cudaFreeHost(data);
  calls << cudaFreeHost(nullptr);
  calls << cudaFreeHost(host);
  calls << cudaFree(data) << cudaFree(data);
}};

const Errors kNullHandles{"events that are null or were not recorded", [](Calls& calls) {
  cudaEvent_t event = nullptr;
  float milliseconds = 0;
  require(cudaEventCreate(&event), "event");
  calls << cudaEventRecord(nullptr);
  calls << cudaEventSynchronize(nullptr);
  calls << cudaEventQuery(nullptr);
  calls << cudaEventDestroy(nullptr);
  calls << cudaEventQuery(event);
  calls << cudaEventElapsedTime(&milliseconds, event, event);
  calls << cudaStreamWaitEvent(nullptr, nullptr, 0);
  calls << cudaStreamDestroy(nullptr);
}};

const Errors kAttributes{"limits and attributes that there are not", [](Calls& calls) {
  int value = 0;
  std::size_t size = 0;
  cudaDeviceProp properties;
  calls << cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1);
  calls << cudaDeviceGetLimit(&size, static_cast<cudaLimit>(99));
  calls << cudaFuncSetAttribute(nothing, static_cast<cudaFuncAttribute>(99), 1);
  calls << cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, -5);
  calls << cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0);
  calls << cudaGetDeviceProperties(&properties, 77);
  calls << cudaSetDevice(-1);
  calls << cudaStreamCreateWithFlags(nullptr, 0);
}};

}  // namespace
}  // namespace convlab::features
