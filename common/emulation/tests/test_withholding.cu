// Withheld numbers: the host sees tokens, kernels see what they stand for.

#include <cxxabi.h>
#include <mma.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/device_memory.hpp"

// Of the compiler's own library.
__extension__ typedef __int128 Wide;
extern "C" Wide __divmodti4(Wide dividend, Wide divisor, Wide* rest);

namespace {

using namespace convlab;

constexpr int kCount = 200;
constexpr std::size_t kBytes = kCount * sizeof(float);

__constant__ float constant_numbers[kCount];
__device__ float device_numbers[kCount];
__managed__ float managed_numbers[kCount];
__device__ const float halves_and_twos[2] = {0.5f, 2.0f};
__constant__ const float twos_and_zeros[4] = {2.0f, 2.0f};
__device__ constexpr int kOneAndZero[2] = {1, 0};

__global__ void double_all(const float* from, float* to) {
  to[threadIdx.x] = 2.0f * from[threadIdx.x];
}
__global__ void double_constant(float* to) { to[threadIdx.x] = 2.0f * constant_numbers[threadIdx.x]; }
__global__ void double_by_constants(const float* from, float* to) {
  const unsigned odd = threadIdx.x % 2;
  to[threadIdx.x] = from[threadIdx.x] * halves_and_twos[odd] * halves_and_twos[kOneAndZero[odd]] *
                        twos_and_zeros[odd] +
                    twos_and_zeros[2 + odd];
}
__global__ void double_variable() { device_numbers[threadIdx.x] *= 2.0f; }
struct Many {
  float numbers[kCount];
};
__global__ void double_argument(Many many, float* to) {
  to[threadIdx.x] = 2.0f * many.numbers[threadIdx.x];
}
__global__ void tell(std::uint64_t address, std::uint64_t* to) { *to = address; }
__global__ void write_every_second(float* to, float* shared) {
  const unsigned i = threadIdx.x;
  if (i % 2 == 1) to[i] = __int_as_float(0x7f800000), shared[i] = 3.0f;
}
__global__ void write_between(float* shared) {
  if (threadIdx.x >= 20 && threadIdx.x < 100) shared[threadIdx.x] = 3.0f;
}
__global__ void count(const float* from, int* flag) {
  if (from[threadIdx.x] > 0.0f) atomicAdd(flag, 1);
}

/// Numbers, and the tokens that the host sees instead.
struct Numbers {
  std::vector<float> truth = std::vector<float>(kCount);
  std::vector<float> tokens = std::vector<float>(kCount);
  float* device = nullptr;
  float* result = nullptr;

  Numbers() {
    for (int i = 0; i < kCount; ++i) truth[i] = 0.01f * static_cast<float>(i + 1);
    emulation::withhold_numbers(std::random_device()());
    emulation::make_tokens(truth.data(), tokens.data(), kCount);
    REQUIRE(cudaMalloc(&device, kBytes) == cudaSuccess);
    REQUIRE(cudaMalloc(&result, kBytes) == cudaSuccess);
  }
  ~Numbers() {
    emulation::stop_withholding();
    cudaFree(device);
    cudaFree(result);
  }

  /// Whether these tokens stand for the numbers, doubled, and hide them.
  [[nodiscard]] bool are_doubled(const float* seen) const {
    std::vector<float> known(seen, seen + kCount);
    emulation::reveal_numbers(known.data(), kCount);
    bool right = true;
    for (int i = 0; i < kCount; ++i) {
      right = right && known[i] == 2.0f * truth[i] && seen[i] != known[i] && std::fabs(seen[i]) >= 2;
    }
    return right;
  }
  [[nodiscard]] bool result_is_doubled() const {
    std::vector<float> seen(kCount);
    CHECK(cudaMemcpy(seen.data(), result, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    return are_doubled(seen.data());
  }
};

__global__ void write_anywhere(std::uint64_t address) {
  *reinterpret_cast<float*>(address) = 5.0f;
}
/// What functions of the host's libraries write for whoever calls them.
struct Functions {
  int (*canonicalize)(float*, const float*) = &canonicalizef;
  decltype(&abi::__cxa_guard_release) release = &abi::__cxa_guard_release;
  Wide (*divide)(Wide, Wide, Wide*) = &__divmodti4;
  long (*call)(long, ...) = &syscall;
};
/// What only the host's process has.
struct Places {
  float canonical = 1.0f;
  long long guard = 0;
  Wide rest = 1;
  float written = 1.0f;
  alignas(16) float tile[256] = {};
};
__global__ void write_by_libraries(Functions host, std::uint64_t places, float number) {
  auto* const to = reinterpret_cast<Places*>(places);
  host.canonicalize(&to->canonical, &number);
  host.release(reinterpret_cast<abi::__guard*>(&to->guard));
  host.divide(7, 5, &to->rest);
}
__global__ void write_by_calls(Functions host, std::uint64_t places, float number,
                               int* refused) {
  auto* const to = reinterpret_cast<Places*>(places);
  const long process = host.call(SYS_getppid);
  iovec from = {&number, sizeof number};
  iovec there = {&to->written, sizeof number};
  *refused += host.call(SYS_process_vm_writev, process, &from, 1, &there, 1, 0) < 0;
  *refused += host.call(SYS_ptrace, PTRACE_SEIZE, process, nullptr, nullptr) < 0;
  *refused += host.call(SYS_kill, process, 0) < 0;
}
/// Memory that the host may only read: in the kernel's process it becomes writable.
__global__ void write_protected(Functions host, std::uint64_t page, float number) {
  if (host.call(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) == 0)
    *reinterpret_cast<float*>(page) = number;
}
__global__ void store_tile(std::uint64_t to) {
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> tile;
  nvcuda::wmma::fill_fragment(tile, 5.0f);
  nvcuda::wmma::store_matrix_sync(reinterpret_cast<float*>(to), tile, 16, nvcuda::wmma::mem_row_major);
}
__device__ float* kept = nullptr;
__global__ void keep_in_heap(const float* from) {
  kept = static_cast<float*>(malloc(sizeof(float)));
  *kept = from[1];
}
__global__ void take_from_heap(float* to) {
  *to = *kept;
  free(kept);
}

}  // namespace

TEST_CASE("withheld: tokens are unique, and a word that is no token stays what it is") {
  const Numbers numbers;
  CHECK(std::set<float>(numbers.tokens.begin(), numbers.tokens.end()).size() == kCount);
  std::vector<float> others = {0.0f, -0.5f, 1.25f, 8.0f, 1e-9f, 65504.0f};
  const std::vector<float> before = others;
  emulation::reveal_numbers(others.data(), static_cast<std::int64_t>(others.size()));
  CHECK(others == before);
}

TEST_CASE("withheld: the host may move numbers, and only kernels see them") {
  const Numbers numbers;
  std::vector<float> moved(numbers.tokens.rbegin(), numbers.tokens.rend());
  std::reverse(moved.begin(), moved.end());
  REQUIRE(cudaMemcpy(numbers.device, moved.data(), kBytes, cudaMemcpyHostToDevice) == cudaSuccess);
  double_all<<<1, kCount>>>(numbers.device, numbers.result);
  CHECK(numbers.result_is_doubled());
}

TEST_CASE("withheld: rows, and bytes that are not aligned") {
  const Numbers numbers;
  std::vector<float> padded(2 * kCount);
  for (int i = 0; i < kCount; ++i) padded[2 * i] = numbers.tokens[i];
  REQUIRE(cudaMemcpy2D(numbers.device, 4, padded.data(), 8, 4, kCount, cudaMemcpyHostToDevice) ==
          cudaSuccess);
  double_all<<<1, kCount>>>(numbers.device, numbers.result);
  CHECK(numbers.result_is_doubled());
  std::vector<float> seen(kCount);
  REQUIRE(cudaMemcpy(reinterpret_cast<char*>(seen.data()) + 1,
                     reinterpret_cast<char*>(numbers.result) + 1, kBytes - 1,
                     cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 1; i < kCount; ++i) CHECK(seen[i] != 2.0f * numbers.truth[i]);
}

TEST_CASE("withheld: variables of the device") {
  const Numbers numbers;
  REQUIRE(cudaMemcpyToSymbol(constant_numbers, numbers.tokens.data(), kBytes) == cudaSuccess);
  double_constant<<<1, kCount>>>(numbers.result);
  CHECK(numbers.result_is_doubled());

  REQUIRE(cudaMemcpyToSymbol(device_numbers, numbers.tokens.data(), kBytes) == cudaSuccess);
  double_variable<<<1, kCount>>>();
  std::vector<float> seen(kCount);
  REQUIRE(cudaMemcpyFromSymbol(seen.data(), device_numbers, kBytes) == cudaSuccess);
  CHECK(numbers.are_doubled(seen.data()));
  void* address = nullptr;
  REQUIRE(cudaGetSymbolAddress(&address, device_numbers) == cudaSuccess);
  REQUIRE(cudaMemcpy(numbers.result, address, kBytes, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(numbers.result_is_doubled());
}

TEST_CASE("withheld: constants of C++ lie where nobody can write, and kernels read them") {
  const Numbers numbers;
  float* in = nullptr;
  REQUIRE(cudaMalloc(&in, kBytes) == cudaSuccess);
  REQUIRE(cudaMemcpy(in, numbers.tokens.data(), kBytes, cudaMemcpyHostToDevice) == cudaSuccess);
  double_by_constants<<<1, kCount>>>(in, numbers.result);
  CHECK(numbers.result_is_doubled());
  const float values[2] = {};
  CHECK(cudaMemcpyToSymbol(halves_and_twos, values, sizeof values) == cudaErrorInvalidSymbol);
  CHECK(cudaGetLastError() == cudaErrorInvalidSymbol);
  CHECK(cudaFree(in) == cudaSuccess);
}

TEST_CASE("withheld: arguments of a kernel") {
  const Numbers numbers;
  Many many{};
  std::copy(numbers.tokens.begin(), numbers.tokens.end(), many.numbers);
  double_argument<<<1, kCount>>>(many, numbers.result);
  CHECK(numbers.result_is_doubled());
}

TEST_CASE("withheld: a pointer whose low half is a token stays what it is") {
  const Numbers numbers;
  int tried = 0;
  for (const float token : numbers.tokens) {
    std::uint32_t low = 0;
    std::memcpy(&low, &token, sizeof low);
    // Behind the first 4 GiB of the range every low half occurs.
    const std::uint64_t high = (reinterpret_cast<std::uintptr_t>(numbers.device) >> 32) + 1;
    const std::uint64_t address = high << 32 | low;
    if (!emulation::device_memory().contains(reinterpret_cast<const void*>(address))) continue;
    ++tried;
    std::uint64_t* to = nullptr;
    REQUIRE(cudaMalloc(&to, sizeof *to) == cudaSuccess);
    tell<<<1, 1>>>(address, to);
    std::uint64_t seen = 0;
    REQUIRE(cudaMemcpy(&seen, to, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(seen == address);
    cudaFree(to);
    if (tried == 10) break;  // more than 64 words do not pass as they are
  }
  CHECK(tried > 0);
}

TEST_CASE("withheld: memory that both sides use") {
  Numbers numbers;
  float* shared = nullptr;
  const int kind = GENERATE(0, 1, 2, 3);
  if (kind == 0) REQUIRE(cudaMallocManaged(&shared, 2 * kBytes) == cudaSuccess);
  if (kind == 1) REQUIRE(cudaMallocHost(&shared, 2 * kBytes) == cudaSuccess);
  std::vector<float> registered(2 * kCount);
  if (kind == 2) {
    shared = registered.data();
    REQUIRE(cudaHostRegister(shared, 2 * kBytes, cudaHostRegisterMapped) == cudaSuccess);
  }
  float* from = kind == 3 ? managed_numbers : shared;
  float* to = kind == 3 ? managed_numbers : shared + kCount;
  for (const bool reversed : {true, false}) {
    // The second launch goes on in the process of the first. It sees what the host has written.
    std::copy(numbers.tokens.begin(), numbers.tokens.end(), from);
    if (reversed) std::reverse(from, from + kCount);
    double_all<<<1, kCount>>>(from, to);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(numbers.are_doubled(to) != reversed);
  }
  if (kind != 3) {
    std::vector<float> seen(from, to);
    emulation::reveal_numbers(seen.data(), kCount);
    CHECK(seen == numbers.truth);
  }
  if (kind == 0) cudaFree(shared);
  if (kind == 1) cudaFreeHost(shared);
  if (kind == 2) cudaHostUnregister(shared);
}

TEST_CASE("withheld: the host reads a flag or a counter, but not many of them") {
  const Numbers numbers;
  REQUIRE(cudaMemcpy(numbers.device, numbers.tokens.data(), kBytes, cudaMemcpyHostToDevice) ==
          cudaSuccess);
  int* flag = nullptr;
  REQUIRE(cudaMalloc(&flag, sizeof *flag) == cudaSuccess);
  cudaMemset(flag, 0, sizeof *flag);
  count<<<1, kCount>>>(numbers.device, flag);
  int seen = 0;
  REQUIRE(cudaMemcpy(&seen, flag, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen == kCount);
  int plain = 0;
  for (int i = 0; i < kCount; ++i) {
    float one = 0.0f;
    cudaMemcpy(&one, numbers.device + i, sizeof one, cudaMemcpyDeviceToHost);
    plain += one == numbers.truth[i] ? 1 : 0;
  }
  CHECK(plain < 64);
  cudaFree(flag);
}

TEST_CASE("withheld: nothing tells a bit: neither what is no number nor what stays unwritten") {
  const Numbers numbers;
  float* shared = nullptr;
  REQUIRE(cudaMallocManaged(&shared, kBytes) == cudaSuccess);
  std::fill_n(shared, kCount, 1.0f);
  write_every_second<<<1, kCount>>>(numbers.result, shared);
  std::vector<float> seen(kCount);
  REQUIRE(cudaMemcpy(seen.data(), numbers.result, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(std::all_of(seen.begin(), seen.end(), [](float x) { return std::fabs(x) >= 2; }));
  emulation::reveal_numbers(seen.data(), kCount);
  for (int i = 0; i < kCount; ++i) CHECK((i % 2 == 1 ? std::isinf(seen[i]) : std::isnan(seen[i])));
  // 64 words pass as they are.
  CHECK(std::all_of(shared + 2 * 64 + 1, shared + kCount, [](float x) { return std::fabs(x) >= 2; }));
  cudaFree(shared);
}

TEST_CASE("withheld: the first and the last word that a kernel writes tell nothing") {
  const Numbers numbers;
  float* shared = nullptr;
  REQUIRE(cudaMallocManaged(&shared, kBytes) == cudaSuccess);
  std::fill_n(shared, kCount, 1.0f);
  write_between<<<1, kCount>>>(shared);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(std::all_of(shared, shared + kCount, [](float x) { return std::fabs(x) >= 2; }));
  emulation::reveal_numbers(shared, kCount);
  CHECK(shared[19] == 1.0f);
  CHECK(shared[20] == 3.0f);
  CHECK(shared[100] == 1.0f);
  cudaFree(shared);
}

TEST_CASE("withheld: the workbook's own copies move true words") {
  const Numbers numbers;
  REQUIRE(cudaMemcpy(numbers.device, numbers.tokens.data(), kBytes, cudaMemcpyHostToDevice) ==
          cudaSuccess);
  const emulation::WorkbookCopies copies;
  std::vector<float> seen(kCount);
  REQUIRE(cudaMemcpy(seen.data(), numbers.device, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen == numbers.truth);
}

TEST_CASE("withheld: what a kernel writes to the host is lost, and its heap stays") {
  const Numbers numbers;
  float host = 1.0f;
  write_anywhere<<<1, 1>>>(reinterpret_cast<std::uint64_t>(&host));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(host == 1.0f);
  REQUIRE(cudaMemcpy(numbers.device, numbers.tokens.data(), kBytes, cudaMemcpyHostToDevice) ==
          cudaSuccess);
  keep_in_heap<<<1, 1>>>(numbers.device);
  take_from_heap<<<1, 1>>>(numbers.result);
  float seen = 0.0f;
  REQUIRE(cudaMemcpy(&seen, numbers.result, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen == numbers.truth[1]);
}

#if !CONVLAB_ADDRESS_SANITIZER  // its shadow has mappings, and its reports need system calls
// A process may have 65 530 mappings.
TEST_CASE("withheld: what is allocated and freed leaves no mapping behind") {
  const Numbers numbers;
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
  const auto before = mappings();
  for (int i = 0; i < 50; ++i) {
    float* array = nullptr;
    REQUIRE(cudaMalloc(&array, kBytes) == cudaSuccess);
    REQUIRE(cudaFree(array) == cudaSuccess);
  }
  CHECK(mappings() < before + 10);
}

TEST_CASE("withheld: whatever function a kernel calls, the host's memory stays what it is") {
  const Numbers numbers;
  Places host;
  const auto address = [](const void* place) { return reinterpret_cast<std::uint64_t>(place); };
  write_by_libraries<<<1, 1>>>({}, address(&host), 5.0f);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  store_tile<<<1, 32>>>(address(host.tile));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  int* refused = nullptr;
  REQUIRE(cudaMallocManaged(&refused, sizeof(int)) == cudaSuccess);
  *refused = 0;
  write_by_calls<<<1, 1>>>({}, address(&host), 5.0f, refused);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*refused == 3);
  auto* const page = static_cast<float*>(
      mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(page != MAP_FAILED);
  write_protected<<<1, 1>>>({}, address(page), 5.0f);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*page == 0.0f);
  CHECK(host.canonical == 1.0f);
  CHECK(host.guard == 0);
  CHECK((host.rest == 1));
  CHECK(host.written == 1.0f);
  CHECK(std::count(host.tile, host.tile + 256, 0.0f) == 256);
  munmap(page, 4096);
  cudaFree(refused);
}

// Each kernel's process copies all mappings.
TEST_CASE("withheld: memory that was freed leaves no mapping of its own") {
  const auto count_mappings_after = [](int allocations) {
    for (int i = 0; i < allocations; ++i) const Numbers numbers;
    std::ifstream file("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  const auto before = count_mappings_after(2);
  CHECK(count_mappings_after(40) < before + 40);
}
#endif

TEST_CASE("withheld: registered twice, in parts, memory stays what it is") {
  const Numbers numbers;
  std::vector<float> host(numbers.tokens);
  REQUIRE(cudaHostRegister(host.data(), kBytes, 0) == cudaSuccess);
  REQUIRE(cudaHostRegister(host.data() + 10, kBytes - 10 * sizeof(float), 0) == cudaSuccess);
  double_all<<<1, kCount>>>(host.data(), numbers.result);
  CHECK(numbers.result_is_doubled());
  CHECK(host == numbers.tokens);
  cudaHostUnregister(host.data());
  cudaHostUnregister(host.data() + 10);
}

TEST_CASE("withheld: pages of the host that stay as they are keep their words from launch to launch") {
  const Numbers numbers;
  constexpr int kPage = 1024;  // numbers in one
  float* shared = nullptr;
  REQUIRE(cudaMallocHost(&shared, 4 * kPage * sizeof(float)) == cudaSuccess);
  float* const from = shared + kPage - kCount / 2;  // half of them lie in the next page
  float* const to = shared + 2 * kPage;
  std::ranges::copy(numbers.tokens, from);
  const auto launch = [&](const float* each) {
    double_all<<<1, kCount>>>(each, to);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  };
  launch(from);
  CHECK(numbers.are_doubled(to));
  // Only the second half changes, and what the last kernel wrote.
  std::reverse(from + kCount / 2, from + kCount);
  std::fill_n(to, kCount, 0.0f);
  launch(from);
  CHECK_FALSE(numbers.are_doubled(to));
  std::reverse(from + kCount / 2, from + kCount);
  launch(from);
  CHECK(numbers.are_doubled(to));
  // What a kernel has written there is the next one's input, though the host sees tokens of it.
  launch(to);
  std::vector<float> seen(to, to + kCount);
  emulation::reveal_numbers(seen.data(), kCount);
  CHECK(seen[kCount - 1] == 4.0f * numbers.truth[kCount - 1]);
  cudaFreeHost(shared);
}
