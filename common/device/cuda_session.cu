#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/stopwatch.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/cuda_event.cuh"
#include "common/device/cuda_session.hpp"
#include "common/device/device_buffer.cuh"
#include "common/device/gpu_driver.hpp"
#if CONVLAB_EMULATED
#include "common/emulation/include/convlab_emulation/activity.hpp"
#else
#include "common/device/recorded_allocations.hpp"
#endif

namespace convlab {

namespace {

__global__ void do_nothing() {}

// Reads the whole array, which pushes everything else out of the cache. It writes nothing: written
// data would go back to memory while the next kernel is timed.
__global__ void read_all(const float* data, std::int64_t size, float* sink) {
  float sum = 0.0f;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += step) {
    sum += data[i];
  }
  if (sum != 0.0f) *sink = sum;  // never: the array holds zeros, which the compiler cannot know
}

constexpr int kWantedWords = 4;
struct Words {
  std::uint32_t words[kWantedWords];
  int count;
};

// Stores where these words begin in `data`: found[0] counts the places, the first `most` follow.
[[maybe_unused]] __global__ void find_words(const std::uint32_t* data, std::int64_t size,
                                            Words wanted, unsigned long long* found, int most) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i + wanted.count <= size; i += step) {
    bool same = true;
    for (int k = 0; same && k < wanted.count; ++k) same = data[i + k] == wanted.words[k];
    if (!same) continue;
    const unsigned long long place = atomicAdd(&found[0], 1ULL);
    if (place < static_cast<unsigned long long>(most)) {
      found[place + 1] = static_cast<unsigned long long>(i);
    }
  }
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CONVLAB_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

DeviceInfo describe(const cudaDeviceProp& properties) {
  int driver = 0;
  int runtime = 0;
  CONVLAB_CUDA_CHECK(cudaDriverGetVersion(&driver));
  CONVLAB_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  DeviceInfo info;
  info.device = CONVLAB_EMULATED ? Device::kEmulated : Device::kGpu;
  info.name = properties.name;
  info.capability = {properties.major, properties.minor};
  info.multiprocessors = properties.multiProcessorCount;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.l2_bytes = properties.l2CacheSize;
  // CUDA 13 removed the clocks from the properties.
  info.clock_mhz = attribute(cudaDevAttrClockRate) / 1000;
  info.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate) / 1000;
  info.memory_bus_bits = properties.memoryBusWidth;
  info.driver = cuda_version_text(driver);
  info.runtime = cuda_version_text(runtime);
  return info;
}

std::string pci_bus_id(const cudaDeviceProp& properties) {
  char text[32];
  std::snprintf(text, sizeof text, "%08x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID,
                properties.pciDeviceID);
  return text;
}

#if CONVLAB_EMULATED
using TrueCopies = emulation::WorkbookCopies;

Profile profile_of(const emulation::Activity& activity) {
  Profile profile;
  profile.timed = false;
  for (const auto& [name, calls] : activity.launches) profile.kernels.push_back({name, calls});
  for (const auto& [direction, copies] : activity.copies)
    profile.copies.push_back({direction, copies.calls, 0, copies.bytes});
  return profile;
}
#else
/// Nothing is withheld on a GPU.
struct TrueCopies {};
#endif

class CudaSession final : public DeviceSession {
 public:
  CudaSession(double start_up_ms, const cudaDeviceProp& properties)
      : info_(describe(properties)),
        start_up_ms_(start_up_ms),
        clock_(CONVLAB_EMULATED ? "" : pci_bus_id(properties)),
        flush_(CONVLAB_EMULATED ? 0 : flush_size(info_)) {
    // The properties give the rated clock, which consumer GPUs exceed.
    info_.clock_mhz = std::max(info_.clock_mhz, clock_.highest_mhz().value_or(0));
    if (flush_.size() > 0) CONVLAB_CUDA_CHECK(cudaMemset(flush_.data(), 0, flush_.bytes()));
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  MeasuredDevice measure() override {
    MeasuredDevice measured = DeviceSession::measure();
#if !CONVLAB_EMULATED
    measured.limits = measure_limits(info_);
    measured.start_up_ms = start_up_ms_;
    std::vector<double> empty_ms;
    for (int i = 0; i < 21; ++i) {
      empty_ms.push_back(sample([] { do_nothing<<<1, 1>>>(); }, "an empty kernel").score_ms());
    }
    measured.empty_launch_ms = spread_of(empty_ms).median;
#endif
    return measured;
  }

  void fence(const char* phase) override {
    check_device(phase);
  }

  std::vector<MemoryContent> memory() override {
#if CONVLAB_EMULATED
    const auto ranges = emulation::allocated_memory();
#else
    const auto ranges = profiled_memory();
#endif
    constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
    constexpr std::int64_t kWord = sizeof(std::uint32_t);
    std::vector<MemoryContent> contents;
    for (const auto& range : ranges) {
      const std::int64_t words = std::min(range.bytes, kMostBytes) / kWord;
      MemoryContent content{range.begin,
                            std::vector<std::uint32_t>(static_cast<std::size_t>(words))};
      read_rows(range.begin, words * kWord, words * kWord, 1,
                reinterpret_cast<std::byte*>(content.words.data()));
      contents.push_back(std::move(content));
    }
    return contents;
  }

  void overwrite(std::byte* place, const float* numbers, std::int64_t count) override {
    const TrueCopies copies{};
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    // Freed memory has no content.
    if (cudaMemcpy(place, numbers, bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
      cudaGetLastError();
    }
  }

  bool read_rows(const std::byte* from, std::int64_t pitch, std::int64_t width, int rows,
                 std::byte* to) override {
    const TrueCopies copies{};
    const auto bytes = static_cast<std::size_t>(width);
    const cudaError_t error =
        rows == 1 ? cudaMemcpy(to, from, bytes, cudaMemcpyDefault)
                  : cudaMemcpy2D(to, bytes, from, static_cast<std::size_t>(pitch), bytes,
                                 static_cast<std::size_t>(rows), cudaMemcpyDefault);
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess;
  }

  void start_profile() override {
    is_profiling_ = true;
#if CONVLAB_EMULATED
    emulation::take_activity();
#else
    start_cupti_profile();
#endif
  }

  Profile stop_profile() override {
    is_profiling_ = false;
    check_device("the profiled run");
#if CONVLAB_EMULATED
    return profile_of(emulation::take_activity());
#else
    return stop_cupti_profile();
#endif
  }

  void empty_cache() override {
    if (is_profiling_ || flush_.size() == 0) return;
#if !CONVLAB_EMULATED
    // Lines that a stage asked to persist would survive the flush.
    CONVLAB_CUDA_CHECK(cudaCtxResetPersistingL2Cache());
#endif
    read_all<<<4 * info_.multiprocessors, 256>>>(flush_.data(), flush_.size(), sink_.data());
    check_device("the emptying of the cache");
  }

  OpSample time_now(const std::function<void()>& op) override {
    check_device("what came before a measurement");
    return sample(op, "convolve");
  }

  int clock_mhz() override {
    return clock_.mhz().value_or(0);
  }

#if CONVLAB_EMULATED
  std::optional<std::vector<MemoryRange>> allocations() override {
    std::vector<MemoryRange> ranges;
    for (const auto& range : emulation::allocated_memory()) {
      ranges.push_back({range.begin, range.bytes, true});
    }
    return ranges;
  }

  DeviceNotes take_notes(const float* output, std::int64_t count) override {
    return emulation::take_notes(output, count);
  }

  void limit_kernels(double seconds) override {
    emulation::limit_kernels(seconds);
  }

  void withhold(std::uint64_t key) override {
    emulation::withhold_numbers(key);
    withholds_ = true;
  }

  void stop_withholding() override {
    emulation::stop_withholding();
    withholds_ = false;
  }

  void make_tokens(const float* numbers, float* tokens, std::int64_t count) override {
    emulation::make_tokens(numbers, tokens, count);
  }

  [[nodiscard]] bool withholds() const override {
    return withholds_;
  }

  void reveal(float* numbers, std::int64_t count) override {
    emulation::reveal_numbers(numbers, count);
  }

  void choose_settings(const std::vector<std::string>& settings) override {
    emulation::choose_settings(settings);
  }

  void release_pinned() override {
    emulation::release_pinned();
  }

  bool has_unjoined_work() override {
    stop_.record();
    stop_.wait();
    return emulation::has_pending_work();
  }
#else
  std::optional<std::vector<MemoryRange>> allocations() override {
    if (!allocations_are_recorded()) return std::nullopt;
    return recorded_allocations();
  }

  void before_pinning(void (*prepare)(const void* memory)) override {
    before_recorded_pinning(prepare);
  }
  void release_pinned() override {
    release_recorded_pinning();
  }

  // The device itself looks through its memory.
  std::vector<std::byte*> places_of(const MemoryRange& range,
                                    const std::vector<std::uint32_t>& words) override {
    if (!range.here) return DeviceSession::places_of(range, words);
    constexpr int kMost = 64;
    Words wanted{};
    wanted.count = static_cast<int>(std::min<std::size_t>(words.size(), kWantedWords));
    std::copy_n(words.begin(), wanted.count, wanted.words);
    DeviceBuffer<unsigned long long> found(kMost + 1);
    CONVLAB_CUDA_CHECK(cudaMemset(found.data(), 0, found.bytes()));
    const auto size = range.bytes / static_cast<std::int64_t>(sizeof(std::uint32_t));
    find_words<<<4 * info_.multiprocessors, 256>>>(
        reinterpret_cast<const std::uint32_t*>(range.begin), size, wanted, found.data(), kMost);
    std::vector<unsigned long long> host(kMost + 1);
    found.copy_to_host(host.data());
    check_device("the search for the input in device memory");
    std::vector<std::byte*> places;
    for (unsigned long long i = 0; i < std::min<unsigned long long>(host[0], kMost); ++i) {
      places.push_back(range.begin + host[i + 1] * sizeof(std::uint32_t));
    }
    return places;
  }

  void choose_settings(const std::vector<std::string>& settings) override {
    const auto asks = [&](const std::string& mode) {
      return std::find(settings.begin(), settings.end(), kGpuMemorySetting + mode) !=
             settings.end();
    };
    choose_allocation_mode(asks("guarded")    ? AllocationMode::kGuarded
                           : asks("poisoned") ? AllocationMode::kPoisoned
                                              : AllocationMode::kUsual);
  }
#endif

 private:
  // Twice the cache, in floats.
  static std::int64_t flush_size(const DeviceInfo& info) {
    constexpr std::int64_t kLeast = std::int64_t{32} << 20;
    return 2 * std::max(info.l2_bytes, kLeast) / static_cast<std::int64_t>(sizeof(float));
  }

  // The events lie on the legacy default stream, which waits for all blocking streams. Work on a
  // non-blocking stream shows on the host's clock, because the host waits for the whole device.
  OpSample sample(const std::function<void()>& op, const char* name) {
    OpSample timed;
    start_.record();
    const Stopwatch host{};  // CUDA 11 wants the braces
    op();
    stop_.record();
    stop_.wait();
    const double joined_ms = host.milliseconds();
    cudaDeviceSynchronize();
    timed.tail_ms = host.milliseconds() - joined_ms;
    // Querying an idle device takes time, too, which does not belong to the convolution.
    constexpr double kAskingMs = 0.002;
    timed.host_ms = joined_ms + (timed.tail_ms > kAskingMs ? timed.tail_ms : 0.0);
    check_device(name);
    timed.event_ms = stop_.milliseconds_since(start_);
    return timed;
  }

  DeviceInfo info_;
  [[maybe_unused]] double start_up_ms_;  // of a GPU
  SmClock clock_;
  DeviceBuffer<float> flush_;
  DeviceBuffer<float> sink_{CONVLAB_EMULATED ? 0 : 1};  // the flush writes it
#if CONVLAB_EMULATED
  bool withholds_ = false;
#endif
  bool is_profiling_ = false;
  CudaEvent start_;
  CudaEvent stop_;
};

// Why no device can be used, for a person.
[[noreturn]] void no_device(cudaError_t error) {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::string why = cudaGetErrorString(error);
  if (error == cudaErrorInsufficientDriver && driver == 0) {
    why = "no NVIDIA driver is loaded";
  } else if (error == cudaErrorInsufficientDriver) {
    why = "the driver serves CUDA " + cuda_version_text(driver) +
          ", but this program was built with CUDA " + cuda_version_text(runtime) +
          " (update the driver, or build with an older CUDA Toolkit)";
  }
  throw DeviceError(ExitCode::kEnvironment, "No CUDA device answered: " + why + ".");
}

}  // namespace

std::unique_ptr<DeviceSession> open_cuda_session() try {
  // Otherwise CUDA loads a kernel at its first call, within an op time.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const Stopwatch start_up{};
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) no_device(error);
  CONVLAB_CUDA_CHECK(cudaSetDevice(0));
  cudaDeviceProp properties;
  CONVLAB_CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  if (!CONVLAB_EMULATED) {  // there it would fail for what the file that is checked declares
    do_nothing<<<1, 1>>>();
    CONVLAB_CUDA_CHECK_LAUNCH(1, 1, 0);
  }
  check_device("the start of the program");
  return std::make_unique<CudaSession>(start_up.milliseconds(), properties);
} catch (const DeviceError&) {
  unsetenv("CUDA_MODULE_LOADING");  // the program that replaces this one gets what this one got
  throw;
}

}  // namespace convlab
