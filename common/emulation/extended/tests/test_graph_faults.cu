// Faults with graphs, untyped kernels and copies of boxes, each beside a right twin.

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

TEST_CASE(
    "memory that a captured stream allocates and frees is there in each launch of the graph") {
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
  for (int i = 0; i < 2; ++i) {
    result = 0;
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(result == 7);
  }
}

TEST_CASE("a captured kernel counts when its graph runs, as often as it does") {
  const auto kernels = [] {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const auto launches = convlab::emulation::activity().launches;
    const auto found = launches.find("set");
    return found == launches.end() ? 0 : found->second;
  };
  int* data = device_integers(1);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  const int before = kernels();
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  set<<<1, 1, 0, stream>>>(data, 0, 7);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  CHECK(kernels() == before);
  REQUIRE(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
  CHECK(kernels() == before + 2);
  CHECK(first(data) == 7);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(data);
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
    CHECK(cudaGraphAddMemcpyNode(&two, graph, nullptr, 0, &parameters) == cudaErrorNotSupported);
    CHECK(reports.has("several layers"));
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

TEST_CASE("graph faults: an untyped launch has its bounds, and a place") {
  const Reports reports;
  int* data = device_integers(64);
  void* arguments[] = {&data};
  CHECK(cudaLaunchKernel((void*)bounded, dim3(1), dim3(33), arguments) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  INFO(reports.text());
  CHECK(reports.has("33 threads per block, but its __launch_bounds__ allow 32"));
  CHECK(reports.has("in kernel bounded"));
  CHECK(reports.has("test_graph_faults.cu:" + std::to_string(__LINE__ - 5)));
}

TEST_CASE("graph faults: what cudaLaunchKernelEx cannot give") {
  const Reports reports;
  int* data = device_integers(64);
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {1, 1, 1};
  CHECK(cudaLaunchKernelEx(&config, bounded, data) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  attribute.val.clusterDim = {2, 1, 1};
  CHECK(cudaLaunchKernelEx(&config, bounded, data) == cudaErrorNotSupported);
  CHECK(reports.has("clusters of blocks"));
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  CHECK(cudaLaunchKernelEx(&config, bounded, data) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
