#include "common/emulation/runtime/gpu_model.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "common/base/error.hpp"
#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {
namespace {

// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (what
// a multiprocessor holds, and that since 8.0 the system reserves 1 KiB of each block's shared
// memory); NVIDIA's data sheets and architecture whitepapers of Turing, Ampere and Hopper (numbers
// of multiprocessors, memory, caches, clocks); for the H200 also what one answered (driver 580.159,
// CUDA 13.0).
// Tensor cores: Hopper's are measured on an H200. The others are published: Fasi, Higham, Mikaitis
// and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021.
constexpr TensorCores kTuring{1, 4, 4};
constexpr TensorCores kAmpere{1, 8, 4};
constexpr TensorCores kHopper{2, 16, 8};

constexpr GpuModel kModels[] = {
    // name     capability SMs  shared  block  res threads blocks  MiB     L2     bus  memory clock
    // tensor
    {"default", 8, 0, 108, 164, 163, 1, 2048, 32, 16384, 40960, 5120, 1215000, 1410000, kHopper},
    {"T4", 7, 5, 40, 64, 64, 0, 1024, 16, 15360, 4096, 256, 5001000, 1590000, kTuring},
    {"A40", 8, 6, 84, 100, 99, 1, 1536, 16, 46068, 6144, 384, 7251000, 1740000, kAmpere},
    {"A100", 8, 0, 108, 164, 163, 1, 2048, 32, 40960, 40960, 5120, 1215000, 1410000, kAmpere},
    {"H200", 9, 0, 132, 228, 227, 1, 2048, 32, 143155, 61440, 6016, 3201000, 1980000, kHopper},
};

cudaDeviceProp describe(const GpuModel& model) {
  constexpr int kKibibyte = 1024;
  cudaDeviceProp p{};
  p.major = model.major;
  p.minor = model.minor;
  const bool is_default = &model == &kModels[0];
  std::snprintf(p.name, sizeof p.name, "Emulated %s (compute capability %d.%d)",
                is_default ? "device" : model.name, model.major, model.minor);
  p.totalGlobalMem =
      settings().memory_bytes != 0 ? settings().memory_bytes : std::size_t(model.memory_mib) << 20U;
  p.totalConstMem = std::size_t{64} * kKibibyte;
  p.memPitch = INT32_MAX;
  p.textureAlignment = 512;
  p.sharedMemPerBlock = std::size_t{48} * kKibibyte;
  p.sharedMemPerBlockOptin = std::size_t(model.shared_block_kib) * kKibibyte;
  p.sharedMemPerMultiprocessor = std::size_t(model.shared_kib) * kKibibyte;
  p.reservedSharedMemPerBlock = std::size_t(model.shared_reserved_kib) * kKibibyte;
  p.memoryClockRate = model.memory_khz;
  p.memoryBusWidth = model.bus_bits;
  p.l2CacheSize = model.l2_kib * kKibibyte;
  p.globalL1CacheSupported = p.localL1CacheSupported = p.memoryPoolsSupported = 1;
  p.unifiedAddressing = p.canMapHostMemory = p.managedMemory = p.concurrentManagedAccess = 1;
  p.warpSize = 32;
  p.clockRate = model.clock_khz;
  p.multiProcessorCount = model.multiprocessors;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = INT32_MAX;
  p.maxGridSize[1] = p.maxGridSize[2] = UINT16_MAX;
  p.maxThreadsPerMultiProcessor = model.threads;
  p.maxBlocksPerMultiProcessor = model.blocks;
  p.cooperativeLaunch = p.deviceOverlap = p.concurrentKernels = p.streamPrioritiesSupported = 1;
  p.asyncEngineCount = 3;
  return p;
}

}  // namespace

const GpuModel& find_gpu(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kModels, [&](const GpuModel& each) { return name == each.name; });
  if (found != std::end(kModels)) return *found;
  std::string names;
  for (const GpuModel& each : kModels)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  throw UsageError("CONVLAB_EMU_GPU=" + name + " is none of these: " + names);
}

const GpuModel& gpu_model() {
  return *settings().gpu;
}

const cudaDeviceProp& device_model() {
  static const cudaDeviceProp described = describe(gpu_model());
  return described;
}

}  // namespace convlab::emulation
