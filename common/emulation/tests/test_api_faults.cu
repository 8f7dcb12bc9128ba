// Wrong calls of the runtime API: copies, handles, launches, and programs of many threads.

#include <thread>
#include <vector>

#include "common/emulation/tests/fault_reports.hpp"

namespace {

using convlab::FaultKind;
using convlab::emulation::device_integers;
using convlab::emulation::Reports;

__constant__ int taps[4];
__device__ int counters[4];
__managed__ int total;

__global__ void add(int* data, int value) {
  data[threadIdx.x] += value;
}
__global__ void read_symbols(int* out) {
  out[0] = taps[3] + counters[1];
}

}  // namespace

TEST_CASE("the name of a device variable is no device pointer") {
  const Reports reports;
  const int host[4] = {1, 2, 3, 4};
  SECTION("in a copy") {
    CHECK(cudaMemcpy(taps, host, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(reports.has("the device variable taps, which by its name only cudaMemcpyToSymbol"));
  }
  SECTION("in cudaMemset") {
    CHECK(cudaMemset(taps, 0, 16) == cudaErrorInvalidValue);
    CHECK(reports.has("not the device variable taps"));
  }
  SECTION("as an argument") {
    add<<<1, 4>>>(taps, 1);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(reports.has("argument 1 of add"));
    CHECK(reports.has("is the host's name of the device variable taps"));
  }
  SECTION("but what cudaGetSymbolAddress gives is one, within its bounds") {
    int* address = nullptr;
    REQUIRE(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counters) == cudaSuccess);
    CHECK(cudaMemcpy(address, host, 16, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaMemcpyToSymbol(taps, host, 16) == cudaSuccess);
    add<<<1, 4>>>(address, 5);
    int* out = device_integers(1);
    read_symbols<<<1, 1>>>(out);
    int value = 0;
    CHECK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(value == 4 + 7);
    CHECK(reports.empty());
    CHECK(cudaMemcpy(address + 1, host, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(reports.has("touches 16 bytes that start 4 bytes into the variable counters of 16"));
  }
  SECTION("and that of a managed variable") {
    total = 3;
    add<<<1, 1>>>(&total, 4);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(total == 7);
    CHECK(reports.empty());
  }
}

TEST_CASE("a refused launch names what is too large") {
  const Reports reports;
  int* data = device_integers(1);
  struct Launch {
    dim3 grid, block;
    std::size_t shared;
    const char* words;
  };
  for (const Launch& wrong : {
           Launch{0, 1, 0, "a grid of (0,1,1) blocks has none"},
           Launch{1, dim3(8, 0), 0, "a block of (8,0,1) threads has none"},
           Launch{1, 1025, 0, "a block of (1025,1,1) threads; the limit is (1024,1024,64)"},
           Launch{1, dim3(32, 33), 0, "a block of (32,33,1) threads has 1056; the limit is 1024"},
           Launch{dim3(1, 65536), 1, 0, "a grid of (1,65536,1) blocks; the limit is"},
           Launch{1, 1, 49156, "unless cudaFuncSetAttribute allows the kernel more"},
           Launch{1, 1, 1 << 20, "1048576 bytes of dynamic shared memory; the limit is 49152"},
       }) {
    add<<<wrong.grid, wrong.block, wrong.shared>>>(data, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    INFO(reports.text());
    CHECK(reports.has(wrong.words));
    CHECK(reports.has("invalid launch of add launched at "));
    CHECK(reports.last().fault.kind == FaultKind::kLaunch);
  }
  add<<<1, 1>>>(data, 1);  // the device still works
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("handles that were destroyed are none") {
  const Reports reports;
  cudaEvent_t event = nullptr;
  cudaStream_t stream = nullptr;
  float milliseconds = 0;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventSynchronize(event) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(event) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventElapsedTime(&milliseconds, event, event) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamWaitEvent(stream, event, 0) == cudaErrorInvalidResourceHandle);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaErrorInvalidValue);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, stream) == cudaErrorInvalidValue);

  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  add<<<1, 1, 0, stream>>>(nullptr, 1);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
}

TEST_CASE("a graph that copies memory freed since is a fault") {
  const Reports reports;
  int* data = device_integers(4);
  int* other = device_integers(4);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(other, data, 16, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, stream) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  REQUIRE(cudaFree(data) == cudaSuccess);
  CHECK(cudaGraphLaunch(executable, stream) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(
      reports.has("cudaMemcpyAsync, when its turn came, touches 16 bytes that start 0 bytes into "
                  "the freed allocation"));
}

TEST_CASE("the one device is its own peer, and a stream knows its priority") {
  int host[] = {1, 2};
  int* from = device_integers(2);
  int* to = device_integers(2);
  REQUIRE(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpyPeer(to, 0, from, 0, sizeof(int)) == cudaSuccess);
  CHECK(cudaMemcpyPeerAsync(to + 1, 0, from, 0, sizeof(int)) == cudaSuccess);
  CHECK(cudaMemcpyPeer(to, 0, from, 1, sizeof(int)) == cudaErrorInvalidDevice);
  REQUIRE(cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK((host[0] == 1 && host[1] == 1));
  cudaStream_t stream = nullptr;
  int priority = 1;
  int device = 1;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -9) == cudaSuccess);
  CHECK((cudaStreamGetPriority(stream, &priority) == cudaSuccess && priority == -5));
  CHECK((cudaStreamGetDevice(stream, &device) == cudaSuccess && device == 0));
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(cudaFree(from) == cudaSuccess);
  REQUIRE(cudaFree(to) == cudaSuccess);
}

TEST_CASE("limits, the bus and what a block may still have: what was set, what belongs together") {
  std::size_t bytes = 0;
  CHECK((cudaDeviceGetLimit(&bytes, cudaLimitStackSize) == cudaSuccess && bytes == 1024));
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096) == cudaSuccess);
  CHECK((cudaDeviceGetLimit(&bytes, cudaLimitStackSize) == cudaSuccess && bytes == 4096));
  CHECK(cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1) == cudaErrorInvalidValue);

  char bus[16];
  int device = -1;
  CHECK(cudaDeviceGetPCIBusId(bus, 5, 0) == cudaErrorInvalidValue);
  REQUIRE(cudaDeviceGetPCIBusId(bus, sizeof bus, 0) == cudaSuccess);
  CHECK((cudaDeviceGetByPCIBusId(&device, bus) == cudaSuccess && device == 0));
  CHECK(cudaDeviceGetByPCIBusId(&device, "FFFF:FF:FF.0") == cudaErrorInvalidValue);

  unsigned flags = 0;
  int* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 64) == cudaSuccess);
  CHECK((cudaHostGetFlags(&flags, pinned) == cudaSuccess && (flags & cudaHostAllocMapped) != 0));
  CHECK(cudaHostGetFlags(&flags, &flags) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("threads of the host use the device at once") {
  const Reports reports;
  constexpr int kThreads = 8;
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t, &wrong] {
      for (int round = 0; round < 20; ++round) {
        int* data = nullptr;
        int host[64] = {};
        cudaMalloc(&data, sizeof host);
        cudaMemset(data, 0, sizeof host);
        for (int i = 0; i < 10; ++i) add<<<1, 64>>>(data, t);
        cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
        for (const int value : host) wrong[static_cast<std::size_t>(t)] += value != 10 * t;
        cudaFree(data);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kThreads, 0));
  CHECK(reports.empty());
}
