// Wrong accesses to device and shared memory, by kernels and by the host.

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/tests/fault_reports.hpp"
#include "common/base/fault_record.hpp"

namespace {

using convlab::emulation::at_line;
using convlab::emulation::device_integers;
using convlab::emulation::Reports;
using convlab::FaultKind;
using convlab::emulation::EmulationReport;

constexpr int kWriteLine = __LINE__ + 3;
__global__ void write_index(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = i;
}

__global__ void read_index(const int* data, int* out, int i) { *out = data[i]; }

__global__ void read_far(int* data, long long index) { data[0] = data[index]; }

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

}  // namespace

TEST_CASE("an index past the end of an allocation is an illegal access") {
  const Reports reports;
  int* data = device_integers(1024);
  const bool wrong = GENERATE(false, true);
  write_index<<<9, 128>>>(data, wrong ? 1025 : 1024);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorIllegalAddress : cudaSuccess));
  if (wrong) {
    INFO(reports.text());
    CHECK(reports.has("illegal memory access, 0 bytes past the end of allocation"));
    CHECK(reports.has("of 4096 bytes"));
    CHECK(reports.has("kernel write_index, block (8,0,0), thread (0,0,0)"));
    CHECK(reports.has(at_line(kWriteLine)));
    // The same as a record, here and for the grader.
    const EmulationReport& report = reports.last();
    CHECK(report.fault == FaultKind::kDeviceMemory);
    CHECK(report.kernel == "write_index");
    REQUIRE(report.block.has_value());
    CHECK(report.block->x == 8);
    REQUIRE(report.memory.has_value());
    CHECK(report.memory->bytes == 4096);
    CHECK(report.memory->offset == 4096);
    CHECK(report.at.line == kWriteLine);
    const auto record = convlab::take_noted_fault();
    REQUIRE(record.has_value());
    CHECK(record->kind == convlab::FaultKind::kDeviceMemory);
    CHECK(record->kernel == "write_index");
    CHECK(record->file == "test_memory_faults.cu");
    CHECK(record->line == kWriteLine);
    // The error is cleared, but the next call returns it again.
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaSuccess);
    int* more = nullptr;
    CHECK(cudaMalloc(&more, 4) == cudaErrorIllegalAddress);
    CHECK(cudaPeekAtLastError() == cudaErrorIllegalAddress);
    // A context that has ended is not replaced.
    CHECK(cudaDeviceReset() == cudaSuccess);
    CHECK(cudaMalloc(&more, 4) == cudaErrorDevicesUnavailable);
  } else {
    CHECK(reports.empty());
  }
}

TEST_CASE("freed memory must not be used") {
  const Reports reports;
  int* data = device_integers(64);
  int* out = device_integers(64);
  const bool wrong = GENERATE(false, true);
  if (wrong) REQUIRE(cudaFree(data) == cudaSuccess);
  read_index<<<1, 1>>>(data, out, 2);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorIllegalAddress : cudaSuccess));
  CHECK(reports.has("8 bytes into the freed allocation") == wrong);
}

TEST_CASE("memory is freed once") {
  const Reports reports;
  int* data = device_integers(64);
  CHECK(cudaFree(data) == cudaSuccess);
  CHECK(reports.empty());
  CHECK(cudaFree(data) == cudaErrorInvalidValue);
  CHECK(reports.has("freed twice?"));
  CHECK(cudaFree(nullptr) == cudaSuccess);
}

TEST_CASE("a pointer to host memory is no kernel argument") {
  const Reports reports;
  int* out = device_integers(1);
  std::vector<int> host(4, 5);
  int* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 16) == cudaSuccess);
  pinned[1] = 6;
  read_index<<<1, 1>>>(pinned, out, 1);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  read_index<<<1, 1>>>(host.data(), out, 1);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(reports.has("argument 1 of read_index"));
}

TEST_CASE("a copy or a kernel leaves device memory closed to the host") {
  const Reports reports;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto closed = [&](const int* data) { return write(ends[1], data, 4) == -1 && errno == EFAULT; };
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

TEST_CASE("asynchronous errors surface at the next synchronisation") {
  const Reports reports;
  int* data = device_integers(4);
  int value = 0;
  write_index<<<1, 8192 / 8>>>(data, 8192);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
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

TEST_CASE("a write into the padding around an allocation is found at the next synchronisation") {
  const Reports reports;
  const int index = GENERATE(9, 10, -1);  // 10 integers are 40 bytes, the next 8 are padding
  int* data = device_integers(10);
  int* out = device_integers(16);
  write_index<<<1, 32>>>(data + index, 1);
  const bool wrong = index != 9;
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorIllegalAddress : cudaSuccess));
  CHECK(reports.empty() != wrong);
  if (wrong) CHECK(reports.has(index < 0 ? "before the start of" : "past the end of"));
  static_cast<void>(out);
}

TEST_CASE("a null pointer is named") {
  const Reports reports;
  int* out = device_integers(1);
  read_index<<<1, 1>>>(nullptr, out, 0);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(reports.has("a null pointer"));
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

TEST_CASE("static shared memory has an end") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  static_shared<<<1, 1>>>(out, 0, wrong ? 30 : 29);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorIllegalAddress : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.has("a thread wrote 0 bytes past the end of the shared variable tile of 120 bytes") ==
        wrong);
  CHECK(reports.empty() != wrong);
}

TEST_CASE("far behind static shared memory there is none, even after a kernel that had more") {
  const Reports reports;
  int* out = device_integers(1);
  large_shared<<<1, 1>>>(out);
  static_shared<<<1, 1>>>(out, 0, 29);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  const int index = GENERATE(-3000, 3000, 90000);
  static_shared<<<1, 1>>>(out, index, index);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  INFO(reports.text());
  CHECK(reports.has(index < 0 ? "12000 bytes before the start of the shared variable tile"
                              : " past the end of the shared variable tile"));
}

TEST_CASE("dynamic shared memory has a start and an end") {
  const Reports reports;
  int* out = device_integers(1);
  const int last = GENERATE(7, 8, 8000000, -3000);
  dynamic_shared<<<1, 1, 40000>>>(out, 0);
  dynamic_shared<<<1, 1, 32>>>(out, last);
  CHECK(cudaDeviceSynchronize() == (last == 7 ? cudaSuccess : cudaErrorIllegalAddress));
  INFO(reports.text());
  if (last == 8) CHECK(reports.has("0 bytes past the end of the block's 32 bytes of dynamic shared"));
  if (last < 0) CHECK(reports.has("12000 bytes before the start of the block's 32 bytes of dynamic"));
  CHECK(reports.empty() == (last == 7));
}

#endif
