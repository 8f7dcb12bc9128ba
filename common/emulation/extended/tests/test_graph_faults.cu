// Faults with graphs and untyped kernels, each beside a right twin.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/tests/fault_reports.hpp"

namespace {

using convlab::emulation::device_integers;
using convlab::emulation::Reports;

__global__ void set(int* data, int index, int value) {
  data[index] = value;
}
__global__ void __launch_bounds__(32) bounded(int* data) {
  data[threadIdx.x] = 1;
}

int first(const int* data) {
  int value = 0;
  REQUIRE(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  return value;
}

constexpr int kAddNodeLine = __LINE__ + 15;

/// Launches set(data, index, 7) through a graph of one node.
cudaError_t launch_by_graph(int* data, int index, unsigned threads = 1) {
  int value = 7;
  void* arguments[] = {&data, &index, &value};
  cudaKernelNodeParams parameters{};
  parameters.func = (void*)set;
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(threads);
  parameters.kernelParams = arguments;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  cudaError_t error = cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  if (error == cudaSuccess) error = cudaGraphLaunch(executable, nullptr);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  cudaGraphExecDestroy(executable);
  return error;
}

}  // namespace

TEST_CASE("memory of a graph that is freed outside of it is there for its next launch") {
  const Reports reports;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t nodes[2] = {};
  cudaGraphExec_t executable = nullptr;
  cudaMemAllocNodeParams memory{};
  memory.bytesize = sizeof(int);
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphAddMemAllocNode(&nodes[0], graph, nullptr, 0, &memory) == cudaSuccess);
  int index = 0;
  int value = 7;
  void* arguments[] = {&memory.dptr, &index, &value};
  cudaKernelNodeParams parameters{};
  parameters.func = (void*)set;
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  REQUIRE(cudaGraphAddKernelNode(&nodes[1], graph, nodes, 1, &parameters) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == cudaSuccess);
  for (int launch = 0; launch < 2; ++launch) {
    CHECK(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
    CHECK(first(static_cast<int*>(memory.dptr)) == 7);
    CHECK(cudaFreeAsync(memory.dptr, nullptr) == cudaSuccess);
  }
  cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
  CHECK(cudaGraphExecUpdate(executable, graph, nullptr, &result) == cudaSuccess);
  CHECK(result == cudaGraphExecUpdateSuccess);
  CHECK(reports.empty());
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_CASE(
    "memory that a captured stream allocates and frees is there in each launch of the graph, and "
    "its kernel counts each time") {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  int* data = nullptr;
  int result = 0;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaMallocAsync(&data, sizeof(int), stream) == cudaSuccess);
  set<<<1, 1, 0, stream>>>(data, 0, 7);
  cudaMemcpyAsync(&result, data, sizeof result, cudaMemcpyDeviceToHost, stream);
  REQUIRE(cudaFreeAsync(data, stream) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  convlab::emulation::take_activity();
  for (int i = 0; i < 2; ++i) {
    result = 0;
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(result == 7);
    CHECK(convlab::emulation::take_activity().launches["set"] == 1);
  }
}

TEST_CASE("graph faults: a kernel node runs like a launch and fails like one") {
  const Reports reports;
  int* data = device_integers(16);
  SECTION("clean") {
    CHECK(launch_by_graph(data, 0) == cudaSuccess);
    CHECK(first(data) == 7);
    CHECK(reports.empty());
  }
  SECTION("out of bounds") {
    CHECK(launch_by_graph(data, 16) == cudaErrorIllegalAddress);
    INFO(reports.text());
    CHECK(reports.has("0 bytes past the end of allocation"));
    CHECK(reports.has("in kernel set, block (0,0,0)"));
    CHECK(reports.has("launched at "));
    CHECK(reports.has("test_graph_faults.cu:" + std::to_string(kAddNodeLine)));
  }
  SECTION("a block too large") {
    CHECK(launch_by_graph(data, 0, 1025) == cudaErrorInvalidValue);
  }
  SECTION("a pointer of the host") {
    int host = 0;
    CHECK(launch_by_graph(&host, 0) == cudaErrorIllegalAddress);
    CHECK(reports.has("argument 1 of set"));
  }
}

TEST_CASE("graph faults: nodes") {
  const Reports reports;
  int* data = device_integers(16);
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t one = nullptr;
  cudaGraphNode_t two = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphAddEmptyNode(&one, graph, nullptr, 0) == cudaSuccess);
  REQUIRE(cudaGraphAddEmptyNode(&two, graph, &one, 1) == cudaSuccess);
  SECTION("a node of another graph") {
    cudaGraph_t other = nullptr;
    REQUIRE(cudaGraphCreate(&other, 0) == cudaSuccess);
    cudaGraphNode_t node = nullptr;
    CHECK(cudaGraphAddEmptyNode(&node, other, &one, 1) == cudaErrorInvalidValue);
    CHECK(cudaGraphAddEmptyNode(&node, other, nullptr, 0) == cudaSuccess);
    CHECK(cudaGraphDestroy(other) == cudaSuccess);
  }
  SECTION("a copy past the end") {
    std::vector<int> host(17);
    CHECK(cudaGraphAddMemcpyNode1D(&two, graph, nullptr, 0, data, host.data(), 64,
                                   cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaGraphAddMemcpyNode1D(&two, graph, nullptr, 0, data, host.data(), 68,
                                   cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(reports.has("a copy of a graph touches 68 bytes"));
  }
  SECTION("a copy of rows") {
    std::vector<char> host(32 * 4);
    cudaMemcpy3DParms parameters{};
    parameters.srcPtr = make_cudaPitchedPtr(host.data(), 32, 32, 4);
    parameters.dstPtr = make_cudaPitchedPtr(data, 16, 16, 4);
    parameters.extent = make_cudaExtent(16, 4, 1);
    parameters.kind = cudaMemcpyHostToDevice;
    CHECK(cudaGraphAddMemcpyNode(&two, graph, nullptr, 0, &parameters) == cudaSuccess);
    parameters.dstPos = make_cudaPos(0, 1, 0);
    CHECK(cudaGraphAddMemcpyNode(&two, graph, nullptr, 0, &parameters) == cudaErrorInvalidValue);
    CHECK(reports.has("a copy of a graph touches"));
    parameters.extent.depth = 2;
    CHECK(cudaGraphAddMemcpyNode(&two, graph, nullptr, 0, &parameters) == cudaErrorInvalidValue);
    parameters.srcArray = reinterpret_cast<cudaArray_t>(host.data());
    CHECK(cudaGraphAddMemcpyNode(&two, graph, nullptr, 0, &parameters) == cudaErrorNotSupported);
    CHECK(reports.has("a copy of a graph of a cudaArray_t"));
  }
  SECTION("a memset of something else") {
    cudaMemsetParams parameters{data, 0, 1, 4, 16, 1};
    CHECK(cudaGraphAddMemsetNode(&two, graph, nullptr, 0, &parameters) == cudaSuccess);
    parameters.width = 17;
    CHECK(cudaGraphAddMemsetNode(&two, graph, nullptr, 0, &parameters) == cudaErrorInvalidValue);
    parameters.width = 16;
    parameters.elementSize = 3;
    CHECK(cudaGraphAddMemsetNode(&two, graph, nullptr, 0, &parameters) == cudaErrorInvalidValue);
  }
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE("graph faults: an address that is no kernel's") {
  const Reports reports;
  int* data = device_integers(32);
  void* arguments[] = {&data};
  CHECK(cudaLaunchKernel((void*)bounded, dim3(1), dim3(32), arguments) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  const void* const address = data;
  CHECK(cudaLaunchKernel(address, dim3(1), dim3(32), arguments) == cudaErrorInvalidDeviceFunction);
  CHECK(reports.has("no kernel is known at this address"));
  CHECK(cudaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), arguments) ==
        cudaErrorInvalidDeviceFunction);
  CHECK(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
}

TEST_CASE("while a stream is captured, the calls that CUDA forbids are its errors") {
  const Reports reports;
  int* data = device_integers(8);
  int host[8];
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  cudaEvent_t other_event = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cudaEventCreate(&other_event) == cudaSuccess);
  REQUIRE(cudaEventRecord(other_event, other) == cudaSuccess);
  const auto status = [](cudaStream_t stream) {
    cudaStreamCaptureStatus is = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &is);
    return error == cudaSuccess ? static_cast<int>(is) : -static_cast<int>(error);
  };
  // Measured on an H200 (driver and toolkit 13.0), in this order: a blocking stream captured
  // globally and relaxed, one that does not block globally and relaxed.
  struct Row {
    const char* name;
    std::function<cudaError_t(cudaStream_t)> call;
    int errors[4];
    bool breaks = true;
  };
  using Stream = cudaStream_t;
  const std::vector<Row> rows = {
      {"legacy launch",
       [&](Stream) {
         set<<<1, 1>>>(data, 0, 1);
         return cudaGetLastError();
       },
       {906, 906, 0, 0}},
      {"copy",
       [&](Stream) { return cudaMemcpy(host, data, 4, cudaMemcpyDeviceToHost); },
       {906, 906, 0, 0}},
      {"memset", [&](Stream) { return cudaMemset(data, 0, 4); }, {906, 906, 0, 0}},
      {"legacy record", [&](Stream) { return cudaEventRecord(event); }, {906, 906, 0, 0}},
      {"malloc", [&](Stream) { return cudaMalloc(&data, 32); }, {900, 0, 900, 0}},
      {"free", [&](Stream) { return cudaFree(nullptr); }, {900, 0, 900, 0}},
      {"pinned",
       [&](Stream) {
         void* pinned = nullptr;
         return cudaMallocHost(&pinned, 32);
       },
       {900, 0, 900, 0}},
      {"wait for the device",
       [&](Stream) { return cudaDeviceSynchronize(); },
       {900, 900, 900, 900}},
      {"wait for it", [&](Stream it) { return cudaStreamSynchronize(it); }, {900, 900, 900, 900}},
      {"ask it", [&](Stream it) { return cudaStreamQuery(it); }, {900, 900, 900, 900}},
      {"wait for the legacy stream",
       [&](Stream) { return cudaStreamSynchronize(nullptr); },
       {906, 906, 900, 0}},
      {"wait for another", [&](Stream) { return cudaStreamSynchronize(other); }, {900, 0, 900, 0}},
      {"ask an event", [&](Stream) { return cudaEventQuery(other_event); }, {900, 0, 900, 0}},
      {"ask its event",
       [&](Stream it) {
         REQUIRE(cudaEventRecord(event, it) == cudaSuccess);
         return cudaEventQuery(event);
       },
       {907, 907, 907, 907}},
      {"join what is not captured",
       [&](Stream it) { return cudaStreamWaitEvent(it, other_event, 0); },
       {905, 905, 905, 905}},
      {"launch elsewhere",
       [&](Stream) {
         set<<<1, 1, 0, other>>>(data, 0, 1);
         return cudaGetLastError();
       },
       {0, 0, 0, 0}},
      {"begin again",
       [&](Stream it) { return cudaStreamBeginCapture(it, cudaStreamCaptureModeGlobal); },
       {401, 401, 401, 401},
       false},
      {"ask the legacy stream",
       [&](Stream) { return static_cast<cudaError_t>(-std::min(status(nullptr), 0)); },
       {906, 906, 0, 0},
       false},
  };
  for (const Row& row : rows) {
    for (int i = 0; i < 4; ++i) {
      CAPTURE(row.name, i);
      const bool relaxed = i % 2 == 1;
      cudaStream_t stream = nullptr;
      cudaGraph_t graph = nullptr;
      REQUIRE(cudaStreamCreateWithFlags(
                  &stream, i < 2 ? cudaStreamDefault : cudaStreamNonBlocking) == cudaSuccess);
      REQUIRE(cudaStreamBeginCapture(stream, relaxed ? cudaStreamCaptureModeRelaxed
                                                     : cudaStreamCaptureModeGlobal) == cudaSuccess);
      CHECK(static_cast<int>(row.call(stream)) == row.errors[i]);
      cudaGetLastError();
      const bool broken = row.breaks && row.errors[i] != 0;
      CHECK(status(stream) ==
            (broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive));
      set<<<1, 1, 0, stream>>>(data, 0, 1);
      CHECK(cudaGetLastError() == (broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
      CHECK(cudaStreamEndCapture(stream, &graph) ==
            (broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
      CHECK((graph == nullptr) == broken);
      cudaGetLastError();
      if (graph != nullptr) cudaGraphDestroy(graph);
      REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
    }
  }
}

TEST_CASE("work of a stream that no captured stream waits for is unjoined") {
  for (const bool joins : {false, true}) {
    CAPTURE(joins);
    int* data = device_integers(1);
    cudaStream_t streams[2];
    cudaEvent_t event = nullptr;
    cudaGraph_t graph = nullptr;
    for (cudaStream_t& stream : streams) REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    REQUIRE(cudaEventCreate(&event) == cudaSuccess);
    REQUIRE(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, streams[0]) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(streams[1], event, 0) == cudaSuccess);
    set<<<1, 1, 0, streams[1]>>>(data, 0, 1);
    REQUIRE(cudaEventRecord(event, streams[1]) == cudaSuccess);
    if (joins) REQUIRE(cudaStreamWaitEvent(streams[0], event, 0) == cudaSuccess);
    CHECK(cudaStreamEndCapture(streams[0], &graph) ==
          (joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    CHECK((graph != nullptr) == joins);
    cudaGraphDestroy(graph);
    cudaEventDestroy(event);
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
    cudaFree(data);
  }
}
