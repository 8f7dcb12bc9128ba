// Graphs made of nodes, and launches through pointers without a type.

#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {
namespace {

__global__ void add_index(int* data, int factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += factor * i;
}

template <int kFactor>
__global__ void multiply(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] *= kFactor;
}

__global__ void sum(const int* a, const int* b, long long* out, int n, char unused) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = static_cast<long long>(a[i]) + b[i] + unused;
}

// ---- launches -----------------------------------------------------------------------------------

const Register kUntyped{"launches", "cudaLaunchKernel with a kernel cast to void*", [] {
  constexpr int kCount = 300;
  DeviceArray<int> a(kCount);
  DeviceArray<int> b(kCount);
  DeviceArray<long long> c(kCount);
  int* a_pointer = a.data();
  int* b_pointer = b.data();
  long long* c_pointer = c.data();
  int n = kCount;
  int factor = 7;
  char letter = 'x';
  void* add_arguments[] = {&a_pointer, &factor, &n};
  void* multiply_arguments[] = {&a_pointer, &n};
  void* sum_arguments[] = {&a_pointer, &b_pointer, &c_pointer, &n, &letter};
  const dim3 grid(3);
  const dim3 block(128);
  require(cudaLaunchKernel((void*)add_index, grid, block, add_arguments, 0, nullptr), "add");
  factor = 1000;  // arguments were copied
  require(cudaLaunchKernel((const void*)multiply<3>, grid, block, multiply_arguments, 0, nullptr),
          "multiply");
  require(cudaLaunchKernel(reinterpret_cast<const void*>(&sum), grid, block, sum_arguments, 0,
                           nullptr), "sum");
  return c.bits();
}};

// ---- graphs -------------------------------------------------------------------------------------

/// The parameters of a kernel node; they point to variables of the caller.
cudaKernelNodeParams node_of(void* kernel, unsigned threads, void** arguments) {
  cudaKernelNodeParams parameters{};
  parameters.func = kernel;
  parameters.gridDim = dim3(3);
  parameters.blockDim = dim3(threads);
  parameters.kernelParams = arguments;
  return parameters;
}

void double_first(void* values) { static_cast<int*>(values)[0] *= 2; }

/// copies a in and fills b, both independent; a kernel on each; a sum of both; copies out; the host
/// doubles the first element.
struct Diamond {
  static constexpr int kCount = 300;
  DeviceArray<int> a{kCount};
  DeviceArray<int> b{kCount};
  DeviceArray<long long> c{kCount};
  PinnedArray<int> in{kCount};
  PinnedArray<long long> out{kCount};
  int* a_pointer = a.data();
  int* b_pointer = b.data();
  long long* c_pointer = c.data();
  int n = kCount;
  int factor = 9;
  char letter = 1;
  void* a_arguments[2] = {&a_pointer, &n};
  void* b_arguments[3] = {&b_pointer, &factor, &n};
  void* c_arguments[5] = {&a_pointer, &b_pointer, &c_pointer, &n, &letter};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t copy_in{}, fill{}, on_a{}, on_b{}, both{}, copy_out{}, host{}, end{};

  Diamond() {
    for (int i = 0; i < kCount; ++i) in[static_cast<std::size_t>(i)] = i - 100;
    require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    require(cudaGraphAddMemcpyNode1D(&copy_in, graph, nullptr, 0, a.data(), in.data(), a.bytes(),
                                     cudaMemcpyHostToDevice), "copy in");
    cudaMemsetParams zero{};
    zero.dst = b.data();
    zero.value = 0x01020304;
    zero.elementSize = 4;
    zero.width = kCount;
    zero.height = 1;
    require(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero), "memset");
    const auto multiply_node = node_of((void*)multiply<3>, 128, a_arguments);
    const auto add_node = node_of((void*)add_index, 100, b_arguments);
    const auto sum_node = node_of((void*)sum, 256, c_arguments);
    require(cudaGraphAddKernelNode(&on_a, graph, &copy_in, 1, &multiply_node), "multiply");
    require(cudaGraphAddKernelNode(&on_b, graph, &fill, 1, &add_node), "add");
    const cudaGraphNode_t summands[] = {on_a, on_b};
    require(cudaGraphAddKernelNode(&both, graph, summands, 2, &sum_node), "sum");
    require(cudaGraphAddMemcpyNode1D(&copy_out, graph, &both, 1, out.data(), c.data(), c.bytes(),
                                     cudaMemcpyDeviceToHost), "copy out");
    cudaHostNodeParams call{};
    call.fn = double_first;
    call.userData = in.data();
    const cudaGraphNode_t copies[] = {copy_in, copy_out};
    require(cudaGraphAddHostNode(&host, graph, copies, 2, &call), "host");
    require(cudaGraphAddEmptyNode(&end, graph, &host, 1), "empty");
  }
  ~Diamond() { cudaGraphDestroy(graph); }

  void note(Bits& bits) const {
    for (const long long value : out) {
      bits.push_back(static_cast<std::uint32_t>(value));
      bits.push_back(static_cast<std::uint32_t>(value >> 32));
    }
    bits.push_back(static_cast<std::uint32_t>(in[0]));
  }
};

void launch(cudaGraphExec_t executable, int times) {
  const Stream stream;
  for (int i = 0; i < times; ++i) require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
  require(cudaStreamSynchronize(stream), "graph");
}

const Register kNodes{"graphs", "kernel, copy, memset, host and empty nodes", [] {
  Diamond diamond;
  Bits bits;
  std::size_t count = 0;
  require(cudaGraphGetNodes(diamond.graph, nullptr, &count), "cudaGraphGetNodes");
  bits.push_back(static_cast<std::uint32_t>(count));
  require(cudaGraphGetRootNodes(diamond.graph, nullptr, &count), "cudaGraphGetRootNodes");
  bits.push_back(static_cast<std::uint32_t>(count));
  for (const cudaGraphNode_t node : {diamond.copy_in, diamond.fill, diamond.both, diamond.host, diamond.end}) {
    cudaGraphNodeType type{};
    require(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    bits.push_back(static_cast<std::uint32_t>(type));
  }
  cudaGraphExec_t executable = nullptr;
  require(cudaGraphInstantiate(&executable, diamond.graph, 0), "cudaGraphInstantiate");
  for (int i = 1; i <= 3; ++i) {
    launch(executable, i);
    diamond.note(bits);
  }
  require(cudaGraphExecDestroy(executable), "destroy");
  return bits;
}};

const Register kUpdates{"graphs", "new parameters for nodes of an executable graph", [] {
  Diamond diamond;
  Bits bits;
  cudaGraphExec_t executable = nullptr;
  require(cudaGraphInstantiate(&executable, diamond.graph, 0), "cudaGraphInstantiate");
  diamond.factor = 1000;  // the node has its copy
  launch(executable, 1);
  diamond.note(bits);
  const auto changed = node_of((void*)add_index, 128, diamond.b_arguments);
  require(cudaGraphExecKernelNodeSetParams(executable, diamond.on_b, &changed), "kernel");
  launch(executable, 1);
  diamond.note(bits);
  require(cudaGraphExecMemcpyNodeSetParams1D(executable, diamond.copy_in, diamond.a.data(),
                                             diamond.in.data() + 150, 150 * sizeof(int),
                                             cudaMemcpyHostToDevice), "copy");
  launch(executable, 1);
  diamond.note(bits);
  Diamond other;
  cudaGraphExecUpdateResultInfo info{};
  require(cudaGraphExecUpdate(executable, other.graph, &info), "cudaGraphExecUpdate");
  bits.push_back(static_cast<std::uint32_t>(info.result));
  launch(executable, 2);
  other.note(bits);
  cudaGraphNode_t more{};
  require(cudaGraphAddEmptyNode(&more, other.graph, &other.end, 1), "empty");
  bits.push_back(static_cast<std::uint32_t>(cudaGraphExecUpdate(executable, other.graph, &info)));
  cudaGetLastError();
  require(cudaGraphExecDestroy(executable), "destroy");
  return bits;
}};

const Register kClones{"graphs", "copies of rows, and clones", [] {
  PinnedArray<int> in(6 * 5);
  PinnedArray<int> out(6 * 5);
  for (std::size_t i = 0; i < 6 * 5; ++i) in[i] = static_cast<int>(i);
  DeviceArray<int> middle(6 * 5);
  const auto whole = [](int* data) { return make_cudaPitchedPtr(data, 6 * sizeof(int), 6, 5); };
  cudaMemcpy3DParms there{};
  there.srcPtr = whole(in.data());
  there.dstPtr = whole(middle.data());
  there.dstPos = make_cudaPos(sizeof(int), 2, 0);
  there.extent = make_cudaExtent(4 * sizeof(int), 3, 1);
  there.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3DParms back{};
  back.srcPtr = whole(middle.data());
  back.dstPtr = whole(out.data());
  back.extent = make_cudaExtent(6 * sizeof(int), 5, 1);
  back.kind = cudaMemcpyDeviceToHost;
  cudaGraph_t graph = nullptr;
  cudaGraph_t clone = nullptr;
  cudaGraphNode_t first{};
  cudaGraphNode_t second{};
  require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  require(cudaGraphAddMemcpyNode(&first, graph, nullptr, 0, &there), "there");
  require(cudaGraphAddMemcpyNode(&second, graph, &first, 1, &back), "back");
  require(cudaGraphClone(&clone, graph), "cudaGraphClone");
  require(cudaGraphDestroy(graph), "destroy");
  cudaGraphExec_t executable = nullptr;
  require(cudaGraphInstantiate(&executable, clone, 0), "cudaGraphInstantiate");
  launch(executable, 1);
  require(cudaGraphExecDestroy(executable), "destroy");
  require(cudaGraphDestroy(clone), "destroy");
  return Bits(out.begin(), out.end());
}};

__global__ void number(unsigned* to, unsigned first) { to[threadIdx.x] = first + threadIdx.x; }
__global__ void twice(const unsigned* from, unsigned* to) {
  to[threadIdx.x] = 2 * from[threadIdx.x];
}

const Register kMemory{"graphs", "memory nodes", [] {
  DeviceArray<unsigned> out(64);
  cudaGraph_t graph = nullptr;
  require(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  cudaMemAllocNodeParams memory{};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.bytesize = 64 * sizeof(unsigned);
  cudaGraphNode_t nodes[4] = {};
  require(cudaGraphAddMemAllocNode(&nodes[0], graph, nullptr, 0, &memory), "allocation");
  auto* between = static_cast<unsigned*>(memory.dptr);
  unsigned first = 5;
  unsigned* to = out.data();
  void* of_number[] = {&between, &first};
  void* of_twice[] = {&between, &to};
  cudaKernelNodeParams kernel{};
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(64);
  kernel.func = (void*)number;
  kernel.kernelParams = of_number;
  require(cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &kernel), "number");
  kernel.func = (void*)twice;
  kernel.kernelParams = of_twice;
  require(cudaGraphAddKernelNode(&nodes[2], graph, &nodes[1], 1, &kernel), "twice");
  require(cudaGraphAddMemFreeNode(&nodes[3], graph, &nodes[2], 1, memory.dptr), "free");
  cudaGraphExec_t executable = nullptr;
  require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  launch(executable, 2);
  const Bits result = out.bits();
  require(cudaGraphExecDestroy(executable), "destroy");
  require(cudaGraphDestroy(graph), "destroy");
  return result;
}};

}  // namespace
}  // namespace convlab::features
