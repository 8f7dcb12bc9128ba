// The runtime API: memory, streams and errors.

#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {
namespace {

__constant__ float taps[8];
__device__ int counter;
__device__ float table[4] = {0.5F, 1.5F, 2.5F, 3.5F};

__global__ void use_symbols(float* out) {
  out[threadIdx.x] = taps[threadIdx.x % 8] * table[threadIdx.x % 4];
  if (threadIdx.x == 0) counter += 5;
}

const Register kSymbols{"memory", "__constant__ and __device__ variables", [] {
  DeviceArray<float> out(32);
  const std::vector<float> host = some_floats(8);
  require(cudaMemcpyToSymbol(taps, host.data(), 32), "cudaMemcpyToSymbol");
  require(cudaMemcpyToSymbol(taps, host.data(), 8, 16), "cudaMemcpyToSymbol");
  const int start = 37;
  require(cudaMemcpyToSymbol(counter, &start, sizeof start), "cudaMemcpyToSymbol");
  use_symbols<<<1, 32>>>(out.data());
  Bits bits = out.bits();
  int count = 0;
  require(cudaMemcpyFromSymbol(&count, counter, sizeof count), "cudaMemcpyFromSymbol");
  bits.push_back(static_cast<std::uint32_t>(count));
  void* address = nullptr;
  std::size_t size = 0;
  require(cudaGetSymbolAddress(&address, taps), "cudaGetSymbolAddress");
  require(cudaGetSymbolSize(&size, taps), "cudaGetSymbolSize");
  bits.push_back(static_cast<std::uint32_t>(size));
  return bits;
}};

__global__ void triple(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] *= 3;
}

const Register kPitch{"memory", "cudaMallocPitch, cudaMemcpy2D, cudaMemset2D", [] {
  unsigned char* data = nullptr;
  std::size_t pitch = 0;
  require(cudaMallocPitch(reinterpret_cast<void**>(&data), &pitch, 37, 5), "cudaMallocPitch");
  require(cudaMemset2D(data, pitch, 7, 37, 5), "cudaMemset2D");
  std::vector<unsigned char> host(37 * 5, 0);
  for (std::size_t i = 0; i < 20; ++i) host[i] = static_cast<unsigned char>(i);
  require(cudaMemcpy2D(data, pitch, host.data(), 37, 10, 2, cudaMemcpyHostToDevice), "cudaMemcpy2D");
  require(cudaMemcpy2D(host.data(), 37, data, pitch, 37, 5, cudaMemcpyDeviceToHost), "cudaMemcpy2D");
  require(cudaFree(data), "cudaFree");
  Bits bits{static_cast<std::uint32_t>(pitch % 32)};
  bits.insert(bits.end(), host.begin(), host.end());
  return bits;
}};

__global__ void triple_box(cudaPitchedPtr box) {
  auto* const row = static_cast<char*>(box.ptr) + (blockIdx.y * box.ysize + blockIdx.x) * box.pitch;
  reinterpret_cast<int*>(row)[threadIdx.x] *= 3;
}

const Register kBox{"memory", "cudaMalloc3D, cudaMemcpy3D, cudaMemset3D", [] {
  constexpr std::size_t kWidth = 7 * sizeof(int);
  cudaPitchedPtr box{};
  require(cudaMalloc3D(&box, make_cudaExtent(kWidth, 5, 4)), "cudaMalloc3D");
  require(cudaMemset3D(box, 1, make_cudaExtent(kWidth, 5, 4)), "cudaMemset3D");
  Bits bits(7 * 5 * 4);
  for (std::uint32_t i = 0; i < bits.size(); ++i) bits[i] = i;
  cudaMemcpy3DParms there{};
  there.srcPtr = make_cudaPitchedPtr(bits.data(), kWidth, 7, 5);
  there.srcPos = make_cudaPos(sizeof(int), 2, 1);
  there.dstPtr = box;
  there.dstPos = make_cudaPos(2 * sizeof(int), 1, 2);
  there.extent = make_cudaExtent(3 * sizeof(int), 3, 2);
  there.kind = cudaMemcpyHostToDevice;
  require(cudaMemcpy3D(&there), "cudaMemcpy3D");
  triple_box<<<dim3(5, 4), 7>>>(box);
  require(cudaMemset3D(box, 2, make_cudaExtent(sizeof(int), 2, 3)), "cudaMemset3D");
  cudaMemcpy3DParms back{};
  back.srcPtr = box;
  back.dstPtr = there.srcPtr;
  back.extent = make_cudaExtent(kWidth, 5, 4);
  back.kind = cudaMemcpyDeviceToHost;
  require(cudaMemcpy3DAsync(&back), "cudaMemcpy3DAsync");
  require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  require(cudaFree(box.ptr), "cudaFree");
  return bits;
}};

const Register kManaged{"memory", "managed and pinned memory", [] {
  int* managed = nullptr;
  PinnedArray<int> pinned(64);
  require(cudaMallocManaged(reinterpret_cast<void**>(&managed), 64 * sizeof(int)), "cudaMallocManaged");
  for (int i = 0; i < 64; ++i) managed[i] = pinned[static_cast<std::size_t>(i)] = i;
  triple<<<1, 64>>>(managed, 64);
  triple<<<1, 64>>>(pinned.data(), 32);
  require(cudaDeviceSynchronize(), "kernel");
  Bits bits(managed, managed + 64);
  bits.insert(bits.end(), pinned.begin(), pinned.end());
  require(cudaFree(managed), "cudaFree");
  return bits;
}};

const Register kAsync{"memory", "cudaMallocAsync, cudaFreeAsync", [] {
  const Stream stream;
  int* data = nullptr;
  std::vector<int> host(100, 5);
  require(cudaMallocAsync(reinterpret_cast<void**>(&data), 400, stream), "cudaMallocAsync");
  require(cudaMemcpyAsync(data, host.data(), 400, cudaMemcpyHostToDevice, stream), "copy");
  triple<<<1, 128, 0, stream>>>(data, 100);
  require(cudaMemcpyAsync(host.data(), data, 400, cudaMemcpyDeviceToHost, stream), "copy");
  require(cudaFreeAsync(data, stream), "cudaFreeAsync");
  require(cudaStreamSynchronize(stream), "stream");
  return Bits(host.begin(), host.end());
}};

const Register kAttributes{"memory", "cudaHostRegister, cudaPointerGetAttributes", [] {
  DeviceArray<int> device(64);
  int* managed = nullptr;
  int* pinned = nullptr;
  std::vector<int> host(64, 4);
  require(cudaMallocManaged(reinterpret_cast<void**>(&managed), 256), "cudaMallocManaged");
  require(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 256, cudaHostAllocMapped), "cudaHostAlloc");
  Bits bits;
  const auto note = [&](const void* pointer) {
    cudaPointerAttributes attributes{};
    require(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
    bits.push_back(static_cast<std::uint32_t>(attributes.type));
    bits.push_back(attributes.devicePointer != nullptr);
    bits.push_back(attributes.hostPointer != nullptr);
  };
  for (const int* pointer : {device.data() + 3, managed, pinned, host.data()}) note(pointer);
  require(cudaHostRegister(host.data(), 256, cudaHostRegisterMapped), "cudaHostRegister");
  note(host.data());
  int* mapped = nullptr;
  require(cudaHostGetDevicePointer(reinterpret_cast<void**>(&mapped), host.data(), 0), "pointer");
  triple<<<1, 64>>>(mapped, 50);
  require(cudaDeviceSynchronize(), "kernel");
  bits.insert(bits.end(), host.begin(), host.end());
  bits.push_back(static_cast<std::uint32_t>(cudaHostRegister(host.data(), 256, 0)));
  require(cudaHostUnregister(host.data()), "cudaHostUnregister");
  bits.push_back(static_cast<std::uint32_t>(cudaHostUnregister(host.data())));
  cudaGetLastError();
  require(cudaFree(managed), "cudaFree");
  require(cudaFreeHost(pinned), "cudaFreeHost");
  return bits;
}};

const Register kHints{"memory", "pools, prefetching, advice, windows of the L2 cache", [] {
  Bits bits;
  const auto note = [&](cudaError_t error) { bits.push_back(static_cast<std::uint32_t>(error)); };
  const Stream stream;
  cudaMemPool_t pool = nullptr;
  std::uint64_t threshold = 1ULL << 30U;
  note(cudaDeviceGetDefaultMemPool(&pool, 0));
  note(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  note(cudaMemPoolTrimTo(pool, 0));
  int* managed = nullptr;
  require(cudaMallocManaged(reinterpret_cast<void**>(&managed), 256), "cudaMallocManaged");
  for (int i = 0; i < 64; ++i) managed[i] = i;
  cudaMemLocation device{};
  device.type = cudaMemLocationTypeDevice;
  note(cudaMemAdvise(managed, 256, cudaMemAdviseSetReadMostly, device));
  note(cudaMemPrefetchAsync(managed, 256, device, 0, stream));
  cudaStreamAttrValue window{};
  window.accessPolicyWindow.base_ptr = managed;
  window.accessPolicyWindow.num_bytes = 256;
  window.accessPolicyWindow.hitRatio = 0.5F;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  note(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window));
  triple<<<1, 64, 0, stream>>>(managed, 60);
  require(cudaStreamSynchronize(stream), "kernel");
  note(cudaCtxResetPersistingL2Cache());
  bits.insert(bits.end(), managed, managed + 64);
  require(cudaFree(managed), "cudaFree");
  return bits;
}};

// ---- streams ------------------------------------------------------------------------------------

const Register kHostFunctions{"streams", "cudaLaunchHostFunc, cudaStreamAddCallback", [] {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), "stream");
  unsigned flags = 0;
  require(cudaStreamGetFlags(stream, &flags), "cudaStreamGetFlags");
  int* pinned = nullptr;
  require(cudaMallocHost(reinterpret_cast<void**>(&pinned), 64 * sizeof(int)), "cudaMallocHost");
  for (int i = 0; i < 64; ++i) pinned[i] = 1;
  triple<<<1, 64, 0, stream>>>(pinned, 64);
  require(cudaLaunchHostFunc(stream, [](void* data) { static_cast<int*>(data)[1] += 100; }, pinned), "host");
  triple<<<1, 64, 0, stream>>>(pinned, 64);
  require(cudaStreamAddCallback(stream, [](cudaStream_t, cudaError_t error, void* data) {
    static_cast<int*>(data)[2] += 1000 + static_cast<int>(error);
  }, pinned, 0), "callback");
  triple<<<1, 64, 0, stream>>>(pinned, 32);
  require(cudaStreamSynchronize(stream), "stream");
  Bits bits(pinned, pinned + 64);
  bits.push_back(flags);
  bits.push_back(static_cast<std::uint32_t>(cudaStreamQuery(stream)));
  require(cudaFreeHost(pinned), "cudaFreeHost");
  require(cudaStreamDestroy(stream), "stream");
  return bits;
}};

const Register kTime{"streams", "cudaEventElapsedTime", Agreement::kDiffers,
                     "time of the host, not of a GPU", [] {
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  require(cudaEventCreate(&start), "event");
  require(cudaEventCreate(&stop), "event");
  require(cudaEventRecord(start), "record");
  require(cudaEventRecord(stop), "record");
  require(cudaEventSynchronize(stop), "wait");
  float milliseconds = -1;
  require(cudaEventElapsedTime(&milliseconds, start, stop), "elapsed");
  require(cudaEventDestroy(start), "event");
  require(cudaEventDestroy(stop), "event");
  return Bits{milliseconds >= 0 ? 1U : 0U};
}};

// ---- errors -------------------------------------------------------------------------------------

__global__ void half_static(int* out) {
  __shared__ int tile[6 * 1024];
  extern __shared__ int rest[];
  tile[threadIdx.x] = rest[0] = 3;
  out[0] = tile[threadIdx.x];
}

/// The error of the last launch, whether it stays, and what the kernel wrote. Lazy streams know of
/// the error only once the kernel has begun, hence the synchronisation.
void note_launch(DeviceArray<int>& out, Bits& bits) {
  bits.push_back(static_cast<std::uint32_t>(cudaDeviceSynchronize()));
  bits.push_back(static_cast<std::uint32_t>(cudaGetLastError()));
  bits.push_back(static_cast<std::uint32_t>(cudaGetLastError()));
  bits.push_back(out.bits()[0]);
  require(cudaMemset(out.data(), 0, out.bytes()), "cudaMemset");
}

const Register kSharedSum{"errors", "static and dynamic shared memory above the limit", [] {
  Bits bits;
  DeviceArray<int> out(1024);
  for (const std::size_t dynamic : {24 * 1024, 24 * 1024 + 4}) {
    half_static<<<1, 1, dynamic>>>(out.data());
    note_launch(out, bits);
  }
  return bits;
}};

const Register kTexts{"errors", "names and texts of errors", [] {
  Bits bits;
  for (const int code : {0, 1, 2, 9, 12, 13, 17, 21, 98, 101, 400, 600, 700, 701, 702, 710, 714, 715,
                         716, 717, 719, 801, 900, 999}) {
    const auto error = static_cast<cudaError_t>(code);
    for (const char* text : {cudaGetErrorName(error), cudaGetErrorString(error)})
      for (; *text != '\0'; ++text) bits.push_back(static_cast<std::uint32_t>(*text));
  }
  return bits;
}};

}  // namespace
}  // namespace convlab::features
