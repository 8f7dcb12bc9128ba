// Programs with a missing synchronisation, each next to a clean twin: order_bugs CASE exits with 0
// if its result is right. ctest runs them in several orders: a clean twin is right in all of them,
// a bug is wrong in at least one.

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int kThreads = 128;

/// Every thread reads what a neighbour in its group, the block or a warp, wrote to shared memory.
template <int kDistance, int kGroup, bool kSynchronizes>
__global__ void read_neighbour(int* out) {
  __shared__ int shared[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = t;
  if (kSynchronizes && kGroup == kThreads) __syncthreads();
  if (kSynchronizes && kGroup < kThreads) __syncwarp();
  out[t] = shared[t / kGroup * kGroup + (t + kDistance + kGroup) % kGroup];
}

int* on_device() {
  int* data = nullptr;
  cudaMalloc(&data, kThreads * sizeof(int));
  return data;
}
int* on_host_pinned() {
  int* data = nullptr;
  cudaMallocHost(&data, kThreads * sizeof(int));
  std::memset(data, 0, kThreads * sizeof(int));
  return data;
}
std::vector<int> copied(const int* data) {
  std::vector<int> host(kThreads);
  cudaMemcpy(host.data(), data, kThreads * sizeof(int), cudaMemcpyDeviceToHost);
  return host;
}
cudaStream_t new_stream(unsigned flags = cudaStreamDefault) {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, flags);
  return stream;
}

template <int kDistance, int kGroup, bool kSynchronizes>
bool neighbours_are_right() {
  int* const data = on_device();
  read_neighbour<kDistance, kGroup, kSynchronizes><<<1, kThreads>>>(data);
  const std::vector<int> host = copied(data);
  bool right = true;
  for (int t = 0; t < kThreads; ++t)
    right = right && host[static_cast<std::size_t>(t)] == t / kGroup * kGroup + (t + kDistance + kGroup) % kGroup;
  return right;
}

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }
__global__ void add(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x] + 1; }

/// One stream fills, another one reads: only an event keeps the order.
bool streams_are_ordered(bool with_event) {
  int* first = on_device();
  int* second = on_device();
  cudaMemset(first, 0, kThreads * sizeof(int));
  cudaDeviceSynchronize();
  const cudaStream_t writer = new_stream(cudaStreamNonBlocking);
  const cudaStream_t reader = new_stream(cudaStreamNonBlocking);
  cudaEvent_t written = nullptr;
  cudaEventCreate(&written);
  fill<<<1, kThreads, 0, writer>>>(first, 5);
  cudaEventRecord(written, writer);
  if (with_event) cudaStreamWaitEvent(reader, written, 0);
  add<<<1, kThreads, 0, reader>>>(first, second);
  cudaStreamSynchronize(reader);
  cudaEventDestroy(written);
  return copied(second) == std::vector<int>(kThreads, 6);
}

/// The host reads pinned memory to which the device still has to write.
bool host_waits(bool synchronizes) {
  int* const data = on_device();
  int* const pinned = on_host_pinned();
  const cudaStream_t stream = new_stream();
  fill<<<1, kThreads, 0, stream>>>(data, 9);
  cudaMemcpyAsync(pinned, data, kThreads * sizeof(int), cudaMemcpyDeviceToHost, stream);
  if (synchronizes) cudaStreamSynchronize(stream);
  return pinned[kThreads - 1] == 9;
}

/// A graph whose second node reads what the first one fills: only an edge keeps the order.
bool nodes_are_ordered(bool with_edge) {
  int* first = on_device();
  int* second = on_device();
  cudaMemset(first, 0, kThreads * sizeof(int));
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t filled = nullptr;
  cudaGraphNode_t added = nullptr;
  cudaGraphExec_t executable = nullptr;
  int value = 5;
  void* fill_arguments[] = {&first, &value};
  void* add_arguments[] = {&first, &second};
  cudaKernelNodeParams parameters{(void*)fill, dim3(1), dim3(kThreads), 0, fill_arguments, nullptr};
  cudaGraphCreate(&graph, 0);
  cudaGraphAddKernelNode(&filled, graph, nullptr, 0, &parameters);
  parameters.func = (void*)add;
  parameters.kernelParams = add_arguments;
  cudaGraphAddKernelNode(&added, graph, with_edge ? &filled : nullptr, with_edge ? 1 : 0, &parameters);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, nullptr);
  return copied(second) == std::vector<int>(kThreads, 6);
}

/// The host overwrites pinned memory that the device still has to read.
bool upload_is_right(bool synchronizes) {
  int* const data = on_device();
  int* const pinned = on_host_pinned();
  const cudaStream_t stream = new_stream();
  pinned[3] = 5;
  cudaMemcpyAsync(data, pinned, kThreads * sizeof(int), cudaMemcpyHostToDevice, stream);
  if (synchronizes) cudaStreamSynchronize(stream);
  pinned[3] = 6;
  return copied(data)[3] == 5;
}

/// Asking whether a stream is done is no waiting unless the answer is heard.
bool query_is_heard(bool heard) {
  int* const pinned = on_host_pinned();
  const cudaStream_t stream = new_stream();
  fill<<<1, kThreads, 0, stream>>>(pinned, 9);
  while (cudaStreamQuery(stream) == cudaErrorNotReady && heard) {
  }
  return pinned[0] == 9;
}

const std::map<std::string, std::function<bool()>> kCases = {
    {"block_next", neighbours_are_right<1, kThreads, true>},
    {"block_next_bug", neighbours_are_right<1, kThreads, false>},
    {"block_previous", neighbours_are_right<-1, kThreads, true>},
    {"block_previous_bug", neighbours_are_right<-1, kThreads, false>},
    {"warp_next", neighbours_are_right<1, 32, true>},
    {"warp_next_bug", neighbours_are_right<1, 32, false>},
    {"stream", [] { return streams_are_ordered(true); }},
    {"stream_bug", [] { return streams_are_ordered(false); }},
    {"graph", [] { return nodes_are_ordered(true); }},
    {"graph_bug", [] { return nodes_are_ordered(false); }},
    {"upload", [] { return upload_is_right(true); }},
    {"upload_bug", [] { return upload_is_right(false); }},
    {"query", [] { return query_is_heard(true); }},
    {"query_bug", [] { return query_is_heard(false); }},
    {"host", [] { return host_waits(true); }},
    {"host_bug", [] { return host_waits(false); }},
};

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc == 2 ? kCases.find(argv[1]) : kCases.end();
  if (found == kCases.end()) {
    std::fprintf(stderr, "usage: order_bugs CASE\n");
    return 2;
  }
  return found->second() ? 0 : 1;
}
