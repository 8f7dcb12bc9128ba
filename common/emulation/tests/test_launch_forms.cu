// Every way to write a launch that courses use. This file is compiled by the host compiler after
// the rewrite; that it compiles is half of the test.

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <driver_types.h>
#include <math_constants.h>
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/tests/support/catch.hpp"

namespace {

__global__ void add_one(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1;
}

__global__ void add_optional(int* data, const int* addend, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) data[i] += addend == nullptr ? 100 : addend[i];
}

template <typename T>
__global__ void fill(T* data, T value, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) data[i] = value;
}

template <int kFactor, typename T>
__global__ void multiply(T* data, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) data[i] = static_cast<T>(data[i] * kFactor);
}

template <typename Operation>
__global__ void each(int* data, int n, Operation operation) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) data[i] = operation(data[i]);
}

struct Range {
  int first;
  int step;
};

__global__ void count_from(int* data, Range range, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) data[i] = range.first + range.step * i;
}

template <typename T>
__global__ void count_template(T* data, Range range, const int* unused, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) data[i] = unused == nullptr ? static_cast<T>(range.first + range.step * i) : T{};
}

__global__ void with_default(int* data, int value = 7) { data[threadIdx.x] = value; }

template <int kValue, int kAddend = 2>
__global__ void with_default_value(int* data) {
  extern __shared__ int values[];
  values[threadIdx.x] = kValue;
  data[threadIdx.x] = values[threadIdx.x] + kAddend;
}

namespace inner {
__global__ void add_one(int* data, int n) {
  if (static_cast<int>(threadIdx.x) < n) data[threadIdx.x] += 1000;
}
}  // namespace inner

constexpr int kCount = 32;

__device__ volatile int volatile_of_device;
__global__ void set_volatile() { volatile_of_device = 9; }

extern __shared__ int dynamic_of_file[];
__shared__ alignas(long long) int static_of_file[kCount], *pointer_of_file;
#define DYNAMIC(i) dynamic_of_file[i]

__device__ int exchange(int i) {
  __syncthreads();
  return static_of_file[kCount - 1 - i] + *pointer_of_file;
}

__global__ void share_variables_of_file(int* data) {
  const int i = static_cast<int>(threadIdx.x);
  DYNAMIC(i) = 100;
  static_of_file[i] = kCount - i;
  if (i == 0) pointer_of_file = &DYNAMIC(kCount - 1);
  data[i] = exchange(i) - i;
}

/// Device memory with kCount integers, zero at first.
class Numbers {
 public:
  Numbers() {
    REQUIRE(cudaMalloc(&data_, kCount * sizeof(int)) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0, kCount * sizeof(int)) == cudaSuccess);
  }
  ~Numbers() { cudaFree(data_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  int* data() { return data_; }
  /// The value of all elements; fails if they differ.
  int value() { return at(0, true); }
  int at(int index, bool uniform = false) {
    REQUIRE(cudaGetLastError() == cudaSuccess);
    std::vector<int> host(kCount);
    REQUIRE(cudaMemcpy(host.data(), data_, kCount * sizeof(int), cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    if (uniform) REQUIRE(host == std::vector<int>(kCount, host[0]));
    return host[static_cast<std::size_t>(index)];
  }

 private:
  int* data_ = nullptr;
};

template <typename T>
void fill_dependent(T* data, T value) {
  fill<T><<<1, kCount>>>(data, value, kCount);
}

struct Runner {
  void (*kernel)(int*, int);
  void run(int* data) { this->kernel<<<1, kCount>>>(data, kCount); }
};

}  // namespace

TEST_CASE("ordinary kernels and their configurations") {
  Numbers numbers;
  add_one<<<1, kCount>>>(numbers.data(), kCount);
  add_one <<< dim3(2, 1), dim3(kCount / 2, 1, 1), 0 >>> (numbers.data(), kCount);
  add_one<<<dim3{1}, kCount, 0, nullptr>>>(numbers.data(), kCount);
  add_one<<<1,
            // three tokens in a comment: <<<
            kCount>>>(
      numbers.data(), kCount);
  ::inner::add_one<<<1, kCount>>>(numbers.data(), kCount);
  CHECK(numbers.value() == 1004);
  const int two = 2;
  add_one<<<two >> 1, 64 >> 1>>>(numbers.data(), kCount);
  for (int pass = 0; pass < 3; ++pass)
    if (pass == 1)
      add_one<<<(two > 1 ? 1 : 2), kCount>>>(numbers.data(), kCount);
    else
      inner::add_one<<<1, kCount>>>(numbers.data(), kCount);
  CHECK(numbers.value() == 3006);
}

TEST_CASE("templates, deduced and explicit") {
  Numbers numbers;
  fill<<<1, kCount>>>(numbers.data(), 3, kCount);
  multiply<2><<<1, kCount>>>(numbers.data(), kCount);
  multiply<(3 > 2) ? 5 : 1, int><<<1, kCount>>>(numbers.data(), kCount);
  multiply<sizeof(std::vector<std::vector<int>>) / sizeof(std::vector<int>), int>
      <<<1, kCount>>>(numbers.data(), kCount);
  CHECK(numbers.value() == 30);
  fill_dependent(numbers.data(), 8);
  CHECK(numbers.value() == 8);
  fill<<<1, kCount>>>(numbers.data(), 0, kCount);
  CHECK(numbers.value() == 0);
}

#define LAUNCH(kernel, ...) kernel<<<1, kCount>>>(__VA_ARGS__)
#define LAUNCH_LONG(kernel, data) \
  do {                            \
    kernel<<<1, kCount>>>(        \
        data, kCount);            \
  } while (0)

#define MAKE_SCALING(name, factor)                                                \
  __global__ void name##_kernel(int* data) { data[threadIdx.x] *= factor; }       \
  template <int kTimes>                                                           \
  __global__ void name##_power(int* data) {                                       \
    for (int i = 0; i < kTimes; ++i) data[threadIdx.x] *= factor;                 \
  }                                                                               \
  void name(int* data) {                                                          \
    name##_kernel<<<1, kCount>>>(data);                                           \
    inner::name##_kernel<<<1, kCount>>>(data);                                    \
    name##_power<2><<<1, kCount>>>(data);                                         \
  }
namespace {
namespace inner {
__global__ void triple_kernel(int* data) { data[threadIdx.x] += 1; }
}  // namespace inner
MAKE_SCALING(triple, 3)
}  // namespace

TEST_CASE("kernels whose names a macro pastes") {
  Numbers numbers;
  with_default<<<1, kCount>>>(numbers.data());
  triple(numbers.data());
  CHECK(numbers.value() == (7 * 3 + 1) * 9);
}

#define LAUNCH_1D(kernel, threads) kernel<<<1, threads>>>
#define CONFIGURATION(blocks, threads) <<<blocks, threads>>>

TEST_CASE("macros that end before the arguments") {
  Numbers numbers;
  LAUNCH_1D(add_one, kCount)(numbers.data(), kCount);
  LAUNCH_1D(with_default, kCount)(numbers.data());
  add_one CONFIGURATION(1, kCount)(numbers.data(), kCount);
  multiply<3> CONFIGURATION(dim3(1), dim3(kCount))
      (numbers.data(), kCount);
  CHECK(numbers.value() == 24);
}

TEST_CASE("launches in macros") {
  Numbers numbers;
  LAUNCH(add_one, numbers.data(), kCount);
  LAUNCH((fill<int>), numbers.data(), 4, kCount);
  LAUNCH_LONG(add_one, numbers.data());
  CHECK(numbers.value() == 5);
}

TEST_CASE("function pointers") {
  Numbers numbers;
  void (*pointer)(int*, int) = add_one;
  pointer<<<1, kCount>>>(numbers.data(), kCount);
  (*pointer)<<<1, kCount>>>(numbers.data(), kCount);
  void (*table[])(int*, int) = {add_one, inner::add_one, multiply<3, int>};
  int next = 0;
  int blocks = 0;
  int count = kCount;
  table[next++]<<<1, kCount>>>(numbers.data(), kCount);
  table[next++]<<<++blocks, kCount>>>(numbers.data(), count++);
  CHECK((next == 2 && blocks == 1 && count == kCount + 1));  // side effects happen once
  CHECK(numbers.value() == 1003);
  Runner runner{table[2]};
  runner.run(numbers.data());
  runner.kernel<<<1, kCount>>>(numbers.data(), kCount);
  CHECK(numbers.value() == 9027);
}

TEST_CASE("literal zero, NULL and braces as arguments") {
  Numbers numbers;
  add_optional<<<1, kCount>>>(numbers.data(), 0, kCount);
  add_optional<<<1, kCount>>>(numbers.data(), NULL, kCount);
  add_optional<<<1, kCount>>>(numbers.data(), nullptr, kCount);
  add_optional<<<1, kCount>>>(numbers.data(), {}, kCount);
  CHECK(numbers.value() == 400);
  count_from<<<1, kCount>>>(numbers.data(), {5, 2}, kCount);
  CHECK(numbers.at(3) == 11);
  count_template<<<1, kCount>>>(numbers.data(), {6, 3}, 0, kCount);
  CHECK(numbers.at(3) == 15);
  count_template<<<1, kCount>>>(numbers.data(), {6, 4}, NULL, kCount);
  CHECK(numbers.at(3) == 18);
}

TEST_CASE("volatile variables of the device") {
  set_volatile<<<1, 1>>>();
  int value = 0;
  REQUIRE(cudaMemcpyFromSymbol(&value, volatile_of_device, sizeof value) == cudaSuccess);
  CHECK(value == 9);
}

TEST_CASE("shared variables outside of functions") {
  Numbers numbers;
  share_variables_of_file<<<1, kCount, kCount * sizeof(int)>>>(numbers.data());
  CHECK(numbers.value() == 101);
}

TEST_CASE("default template arguments") {
  Numbers numbers;
  with_default_value<5><<<1, kCount, kCount * sizeof(int)>>>(numbers.data());
  CHECK(numbers.value() == 7);
  with_default_value<5, 3><<<1, kCount, kCount * sizeof(int)>>>(numbers.data());
  CHECK(numbers.value() == 8);
  // The permission holds for this kernel only.
  constexpr int kMuch = 80 * 1024;
  REQUIRE(cudaFuncSetAttribute(with_default_value<6>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kMuch) == cudaSuccess);
  with_default_value<6><<<1, kCount, kMuch>>>(numbers.data());
  CHECK(numbers.value() == 8);
  with_default_value<7><<<1, kCount, kMuch>>>(numbers.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

int* launch_and_return(int* data) {
  add_one<<<1, kCount>>>(data, kCount);
  return data;
}

TEST_CASE("a launch among the arguments of a launch") {
  Numbers numbers;
  with_default<<<1, kCount>>>(launch_and_return(numbers.data()), 3);
  CHECK(numbers.value() == 3);
  inner::add_one<<<1, kCount>>>(launch_and_return(launch_and_return(numbers.data())), kCount);
  CHECK(numbers.value() == 1005);
}

TEST_CASE("device lambdas") {
  Numbers numbers;
  const int offset = 12;
  each<<<1, kCount>>>(numbers.data(), kCount, [=] __device__(int x) { return x + offset; });
  CHECK(numbers.value() == 12);
}

namespace other {
struct Number {
  int value;
};
__global__ void scale(Number* numbers, int factor) { numbers[threadIdx.x].value *= factor; }
}  // namespace other

int scale(int a, int b) {
  return a * b;
}
void __global__ count(int* data) {
  data[threadIdx.x] += 1;
}
int count(double a) {
  return static_cast<int>(a);
}
// Named like std::apply, which a reference must not bring in.
__global__ void apply(int& sum, const int& addend) {
  sum += addend;
}

TEST_CASE("a kernel that shares its name with a function of the host, or lives in a namespace") {
  Numbers numbers;
  count<<<1, kCount>>>(numbers.data());
  scale<<<1, kCount>>>(reinterpret_cast<other::Number*>(numbers.data()), scale(2, 3));
  CHECK(numbers.value() == count(6.5));
}

// Named like functions of the C library, and of std where that is used.
__global__ void index(int* data, int n) {
  if (threadIdx.x < static_cast<unsigned>(n)) data[threadIdx.x] += 2;
}
__global__ void pow(int* data, int n) {
  if (threadIdx.x < static_cast<unsigned>(n)) data[threadIdx.x] *= 3;
}
__global__ void transform(int* data, int n) {
  if (threadIdx.x < static_cast<unsigned>(n)) data[threadIdx.x] -= 1;
}

TEST_CASE("a kernel that shares its name with a function of the library") {
  using namespace std;
  Numbers numbers;
  const long count = kCount;
  index<<<1, kCount>>>(numbers.data(), count);
  pow<<<1, kCount>>>(numbers.data(), count);
  transform<<<1, kCount>>>(numbers.data(), count);
  CHECK(numbers.value() == 5);
}

/// Counts its copies and ends on the host, and knows where its threads are to write.
struct Owner {
  int* data;
  int* ends;
  int added = 0;
  Owner(int* place, int* counter) : data(place), ends(counter) {}
  Owner(const Owner& other) : data(other.data), ends(other.ends), added(other.added + 1) {}
  ~Owner() { ++*ends; }
};

__global__ void add_by_owner(Owner owner, int more) {
  owner.added += static_cast<int>(threadIdx.x);
  owner.data[threadIdx.x] = owner.added + more;
}

TEST_CASE("objects as arguments: copied and ended by the host, copied as bytes to each thread") {
  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 32 * sizeof(int)) == cudaSuccess);
  int ends = 0;
  {
    Owner owner(managed, &ends);
    add_by_owner<<<1, 32>>>(owner, 5);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(ends == 1);
    int more = 7;
    void* arguments[] = {&owner, &more};
    for (int i = 0; i < 32; ++i) CHECK(managed[i] == 6 + i);
    REQUIRE(cudaLaunchKernel((void*)add_by_owner, dim3(1), dim3(32), arguments, 0, nullptr) ==
            cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < 32; ++i) CHECK(managed[i] == 7 + i);
    CHECK(ends == 1);
  }
  CHECK(ends == 2);
  REQUIRE(cudaFree(managed) == cudaSuccess);
}

TEST_CASE("parameters by reference to managed memory") {
  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 2 * sizeof(int)) == cudaSuccess);
  managed[0] = 3;
  managed[1] = 4;
  apply<<<1, 1>>>(managed[0], managed[1]);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(managed[0] == 7);
  REQUIRE(cudaFree(managed) == cudaSuccess);
}

#define PART_OF_BLOCK(T, name, n) __shared__ alignas(128) T name[n]
#define WHOLE_BLOCK(T, name) extern __shared__ FAR_APART T name[]
#define FAR_APART __align__(512)

__global__ void from_macros(unsigned* out) {
  PART_OF_BLOCK(short, first, 3);
  PART_OF_BLOCK(char, second, 5);
  WHOLE_BLOCK(double, third);
  first[0] = 1;
  second[0] = 2;
  third[0] = 4;
  out[0] = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(second) % 128 +
                                 reinterpret_cast<std::uintptr_t>(third) % 512);
  out[1] = static_cast<unsigned>(first[0] + second[0] + third[0]);
}

TEST_CASE("macros declare shared arrays, leave the ; to their user, and ask for alignments") {
  unsigned* out = nullptr;
  REQUIRE(cudaMallocManaged(&out, 2 * sizeof(unsigned)) == cudaSuccess);
  from_macros<<<1, 1, sizeof(double)>>>(out);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out[0] == 0);
  CHECK(out[1] == 7);
  REQUIRE(cudaFree(out) == cudaSuccess);
}

TEST_CASE("line numbers are the source's own") {
  CHECK(__LINE__ == 435);
  CHECK(std::string(__FILE__).ends_with("common/emulation/tests/test_launch_forms.cu"));
}
