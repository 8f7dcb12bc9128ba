// Wrong accesses to device and shared memory, by kernels and by the host.

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/tests/fault_reports.hpp"

namespace {

__global__ void copy_float(const float* in, float* out, int index) {
  out[0] = in[index];
}

/// Adds one element of a shared array of 1000, of which `written` are 1, and one of another array.
__global__ void shared_sum(float* out, int written, int index) {
  __shared__ float other[3];
  __shared__ float array[1000];
  other[1] = 0;
  for (int i = 0; i < written; ++i) array[i] = 1;
  out[0] = array[index] + other[1];
}

__constant__ float weights[10];
__device__ float other_weights[10];
__global__ void copy_weight(float* out, int index) {
  out[0] = weights[index];
  out[1] = other_weights[index];
}

using convlab::FaultKind;
using convlab::emulation::at_line;
using convlab::emulation::check;
using convlab::emulation::device_integers;
using convlab::emulation::Reports;

constexpr int kWriteLine = __LINE__ + 3;
__global__ void write_index(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = i;
}

__global__ void read_index(const int* data, int* out, int i) {
  *out = data[i];
}

__global__ void read_far(int* data, long long index) {
  data[0] = data[index];
}

__global__ void read_as_vector(const float* data, float4* out, int offset) {
  *out = *reinterpret_cast<const float4*>(data + offset);
}

__global__ void static_shared(int* out, int first, int last) {
  __shared__ int tile[30];
  for (int i = first; i <= last; ++i) tile[i] = i;
  *out = tile[0];
}

__global__ void large_shared(int* out) {
  __shared__ int rows[10000];
  rows[9999] = 1;
  *out = rows[9999];
}

__global__ void dynamic_shared(int* out, int last) {
  extern __shared__ int tile[];
  tile[last] = 3;
  *out = tile[last];
}

__global__ void add_at(int* data, int offset) {
  atomicAdd(reinterpret_cast<int*>(reinterpret_cast<char*>(data) + offset), 1);
}
constexpr int kAtomicLine = __LINE__ - 2;

}  // namespace

TEST_CASE("an atomic operation at a misaligned address is told with the kernel's line") {
  const Reports reports;
  int* data = device_integers(2);
  REQUIRE(cudaMemset(data, 0, 8) == cudaSuccess);
  add_at<<<1, 1>>>(data, 4);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  add_at<<<1, 1>>>(data, 2);
  CHECK(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
  CHECK(reports.has("an atomic operation on 4 bytes needs a multiple of 4, and this address is 2"));
  CHECK(reports.has(at_line(kAtomicLine)));
}

TEST_CASE("after an illegal access the grader gets a record") {
  const Reports reports;
  int* data = device_integers(1024);
  int value = 0;
  write_index<<<9, 128>>>(data, 1025);
  CHECK(cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
  INFO(reports.text());
  CHECK(reports.has("illegal memory access, 0 bytes past the end of allocation"));
  CHECK(reports.has("of 4096 bytes"));
  CHECK(reports.has("kernel write_index, block (8,0,0), thread (0,0,0)"));
  CHECK(reports.has(at_line(kWriteLine)));
  const auto record = convlab::take_noted_fault();
  REQUIRE(record.has_value());
  CHECK(record->kind == FaultKind::kDeviceMemory);
  CHECK(record->kernel == "write_index");
  CHECK(record->block == std::array<unsigned, 3>{8, 0, 0});
  CHECK(record->memory.bytes == 4096);
  CHECK(record->memory.offset == 4096);
  CHECK(record->file == "test_memory_faults.cu");
  CHECK(record->line == kWriteLine);
}

TEST_CASE("device memory: faults have their codes and words, and right twins none") {
  static std::vector<int> host(4, 5);
  check({
      {"up to the end", [] { write_index<<<9, 128>>>(device_integers(1024), 1024); }, cudaSuccess},
      {"live memory", [] { read_index<<<1, 1>>>(device_integers(64), device_integers(64), 2); },
       cudaSuccess},
#if !CONVLAB_ADDRESS_SANITIZER  // which ends the program for it
      {"sizes in elements",
       [] {
         // What is read beside one array is stored beside the other: NaN for NaN.
         void* from = nullptr;
         void* to = nullptr;
         REQUIRE(cudaMalloc(&from, 1) == cudaSuccess);
         REQUIRE(cudaMalloc(&to, 1) == cudaSuccess);
         copy_float<<<1, 1>>>(static_cast<float*>(from), static_cast<float*>(to), 0);
       },
       cudaErrorIllegalAddress,
       {"past the end of allocation", "of 1 bytes"}},
#endif
      {"freed memory",
       [] {
         int* data = device_integers(64);
         REQUIRE(cudaFree(data) == cudaSuccess);
         read_index<<<1, 1>>>(data, device_integers(64), 2);
       },
       cudaErrorIllegalAddress,
       {"8 bytes into the freed allocation"}},
      {"freed once",
       [] {
         CHECK(cudaFree(device_integers(64)) == cudaSuccess);
         CHECK(cudaFree(nullptr) == cudaSuccess);
       },
       cudaSuccess},
      {"freed twice",
       [] {
         int* data = device_integers(64);
         CHECK(cudaFree(data) == cudaSuccess);
         CHECK(cudaFree(data) == cudaErrorInvalidValue);
       },
       cudaSuccess,
       {"freed twice?"}},
      {"pinned memory as an argument",
       [] {
         int* pinned = nullptr;
         REQUIRE(cudaMallocHost(&pinned, 16) == cudaSuccess);
         pinned[1] = 6;
         read_index<<<1, 1>>>(pinned, device_integers(1), 1);
       },
       cudaSuccess},
      {"memory of the host as an argument",
       [] { read_index<<<1, 1>>>(host.data(), device_integers(1), 1); },
       cudaErrorIllegalAddress,
       {"argument 1 of read_index"}},
  });
}

TEST_CASE("a copy or a kernel leaves device memory closed to the host") {
  const Reports reports;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto closed = [&](const int* data) {
    return write(ends[1], data, 4) == -1 && errno == EFAULT;
  };
  int* data = device_integers(16);
  int* other = device_integers(16);
  CHECK(closed(data));
  int value = 0;
  CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(closed(data));
  CHECK(cudaMemcpy(other, data, 64, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(closed(other));
  write_index<<<1, 16>>>(data, 16);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(closed(data));
  CHECK(cudaMemcpy(&value, data + 5, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(value == 5);
  write_index<<<1, 1024>>>(data, 1024);  // past its end
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(closed(other));
  close(ends[0]);
  close(ends[1]);
}

// The sanitizers find these themselves and end the program: sanitized_bugs.cu.
#if !CONVLAB_ADDRESS_SANITIZER

TEST_CASE("a wild index is an illegal access, however wild") {
  const Reports reports;
  int* data = device_integers(16);
  const long long index = GENERATE(1LL << 30, 1LL << 40, 1LL << 60, -(1LL << 58));
  read_far<<<1, 1>>>(data, index);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  INFO(reports.text());
  CHECK(reports.has("illegal memory access, "));
  CHECK_FALSE(reports.has("null"));
  CHECK(reports.has("test_memory_faults.cu:"));
}

TEST_CASE("where reads are forgiven, places are used again, as they were, but not at once") {
  const Reports reports;
  convlab::emulation::choose_settings({"CONVLAB_EMU_READS=forgiven:61"});
  int* out = device_integers(1);
  std::vector<const int*> places;
  const auto beside = [&](int index) {
    int* const data = device_integers(100);
    places.push_back(data);
    read_index<<<1, 1>>>(data, out, index);
    int value = 0;
    CHECK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(cudaFree(data) == cudaSuccess);
    return value;
  };
  for (int i = 0; i < 20; ++i) {
    CHECK(beside(100) == 0x3d3d'3d3d);
    CHECK(beside(-1) == 0x3d3d'3d3d);
    CHECK(beside(200'000) == 0x3d3d'3d3d);
  }
  CHECK(std::set(places.begin(), places.end()).size() == 16);
  CHECK(std::set(places.begin(), places.begin() + 16).size() == 16);
  CHECK(reports.empty());
  // What was written beside an array is told, and mended.
  write_index<<<1, 128>>>(device_integers(100), 101);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(reports.has("past the end of allocation"));
  convlab::emulation::renew_device();
  out = device_integers(1);
  for (int i = 0; i < 20; ++i) CHECK(beside(100) == 0x3d3d'3d3d);
  convlab::emulation::choose_settings({});
}

// 10 integers are 40 bytes, the next 8 are padding.
TEST_CASE("padding and shared memory: faults have their codes and words, and right twins none") {
  const auto write_at = [](int index) {
    return [=] { write_index<<<1, 32>>>(device_integers(10) + index, 1); };
  };
  const auto write_static = [](int first, int last) {
    return [=] {
      large_shared<<<1, 1>>>(device_integers(1));  // leaves no memory behind that of the next one
      static_shared<<<1, 1>>>(device_integers(1), first, last);
    };
  };
  const auto write_dynamic = [](int last) {
    return [=] {
      dynamic_shared<<<1, 1, 40000>>>(device_integers(1), 0);
      dynamic_shared<<<1, 1, 32>>>(device_integers(1), last);
    };
  };
  check({
      {"the last element", write_at(9), cudaSuccess},
      {"behind the last", write_at(10), cudaErrorIllegalAddress, {"past the end of"}},
      {"before the first", write_at(-1), cudaErrorIllegalAddress, {"before the start of"}},
      {"null",
       [] { read_index<<<1, 1>>>(nullptr, device_integers(1), 0); },
       cudaErrorIllegalAddress,
       {"a null pointer"}},
      {"all of static memory", write_static(0, 29), cudaSuccess},
      {"one more",
       write_static(0, 30),
       cudaErrorIllegalAddress,
       {"a thread wrote 0 bytes past the end of the shared variable tile of 120 bytes"}},
      {"far before it",
       write_static(-3000, -3000),
       cudaErrorIllegalAddress,
       {"12000 bytes before the start of the shared variable tile"}},
      {"far behind it",
       write_static(3000, 3000),
       cudaErrorIllegalAddress,
       {" past the end of the shared variable tile"}},
      {"farther",
       write_static(90000, 90000),
       cudaErrorIllegalAddress,
       {" past the end of the shared variable tile"}},
      {"dynamic memory", write_dynamic(7), cudaSuccess},
      {"behind it",
       write_dynamic(8),
       cudaErrorIllegalAddress,
       {"0 bytes past the end of the block's 32 bytes of dynamic shared"}},
      {"far behind it", write_dynamic(8000000), cudaErrorIllegalAddress, {"dynamic shared"}},
      {"far before it",
       write_dynamic(-3000),
       cudaErrorIllegalAddress,
       {"12000 bytes before the start of the block's 32 bytes of dynamic"}},
  });
}

TEST_CASE("what a plain build reads beside an array is an error or NaN") {
  const Reports reports;
  float* in = nullptr;
  float* out = nullptr;
  REQUIRE(cudaMalloc(&in, 400) == cudaSuccess);
  REQUIRE(cudaMalloc(&out, 400) == cudaSuccess);
  const auto result = [&] {
    float value = 0;
    CHECK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
    return value;
  };
  copy_float<<<1, 1>>>(in, out, -1);
  CHECK(std::isnan(result()));
  for (const int index : {-1, 10, 9, 0}) {
    float values[2] = {};
    copy_weight<<<1, 1>>>(out, index);
    CHECK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (const float value : values) CHECK(std::isnan(value) == (index == -1 || index == 10));
  }
  shared_sum<<<1, 1>>>(out, 1000, -1);
  CHECK(std::isnan(result()));
  shared_sum<<<1, 1>>>(out, 1000, 999);
  CHECK(result() == 1);
  CHECK(reports.empty());
  shared_sum<<<1, 1>>>(out, 1000, 1000);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(reports.has("0 bytes past the end of the shared variable array of 4000 bytes"));
}

// Unoptimised code of g++ loads the parts of a vector one by one.
#if defined(__OPTIMIZE__)
TEST_CASE("vector accesses are aligned") {
  const Reports reports;
  float* data = nullptr;
  REQUIRE(cudaMalloc(&data, 64) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, 64) == cudaSuccess);
  float4* out = nullptr;
  REQUIRE(cudaMalloc(&out, sizeof(float4)) == cudaSuccess);
  read_as_vector<<<1, 1>>>(data, out, 4);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  read_as_vector<<<1, 1>>>(data, out, 3);
  CHECK(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
  CHECK(reports.has("misaligned address"));
}
#endif

#endif
