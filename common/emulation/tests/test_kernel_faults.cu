// Kernels that end early or never: time limit, stack, assertions, launch bounds.

// The optimised builds switch assertions off.
#undef NDEBUG
#include <cassert>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/tests/fault_reports.hpp"

namespace {

using convlab::emulation::at_line;
using convlab::emulation::device_integers;
using convlab::emulation::Reports;
using convlab::FaultKind;

const bool kIsLimited = [] {
  convlab::emulation::limit_kernels(2.0);
  return true;
}();

constexpr int kWriteLine = __LINE__ + 3;
__global__ void write_index(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = i;
}


__global__ void loop_until(volatile int* flag) {
  while (*flag == 0) {
  }
}


__device__ int recurse(int depth, volatile int* sink) {
  volatile int frame[64];
  frame[depth % 64] = depth;
  if (depth <= 0) return *sink;
  return recurse(depth - 1, sink) + frame[depth % 64];
}
__global__ void large_array(int* out, int bytes) {
  volatile char array[4000000];  // steps over the guard pages of several stacks
  for (int i = 0; i < bytes; ++i) array[i] = static_cast<char>(i + *out);
  *out = array[bytes - 1];
}
__global__ void recursive(int* out, int depth) { *out = recurse(depth, out); }

constexpr int kBoundedLine = __LINE__ + 1;
__global__ __launch_bounds__(128) void bounded(int* data, int n) {
  if (static_cast<int>(threadIdx.x) < n) data[threadIdx.x] = 1;
}
template <int kSide>
__global__ void __launch_bounds__(kSide * kSide, 2) bounded_side(int* data, int n);
template <int kSide>
__global__ void __launch_bounds__(kSide * kSide, 2) bounded_side(int* data, int n) {
  if (static_cast<int>(threadIdx.x) < n) data[threadIdx.x] = 2;
}

__global__ void divide(int* out, int divisor) { *out = 7 / divisor; }
__global__ void divide_by(int* out, int dividend, int divisor) { *out = dividend / divisor; }

__global__ void check(const int* data, int expected) { assert(data[0] == expected); }

__global__ void trap(bool wrong) {
  if (wrong) __trap();
}

constexpr int kMeetLine = __LINE__ + 3;
__global__ void loop_between_barriers(volatile int* flag) {
  for (int i = 0; i < 3; ++i)
    __syncthreads();
  if (threadIdx.x == 40)
    while (*flag == 0) {
    }
  __syncthreads();
}

__global__ void empty() {}

__global__ void print_until(volatile int* flag) {
  while (*flag == 0) std::printf("again\n");
}

// nvcc refuses a throw in a kernel, and so does the rewrite; a function of both sides may hide one.
__host__ __device__ void check_row(int row) {
  if (row == 0) throw std::out_of_range("no such row");
}
__global__ void throw_up(const int* data) {
  check_row(data[0]);
}

}  // namespace

TEST_CASE("launch bounds refuse a launch") {
  const Reports reports;
  int* data = device_integers(512);
  const bool wrong = GENERATE(false, true);
  bounded<<<1, wrong ? 129 : 128>>>(data, 512);
  CHECK(cudaGetLastError() == (wrong ? cudaErrorInvalidValue : cudaSuccess));
  bounded_side<8><<<1, dim3(8, wrong ? 9 : 8)>>>(data, 512);
  CHECK(cudaGetLastError() == (wrong ? cudaErrorInvalidValue : cudaSuccess));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty() != wrong);
  if (wrong) {
    INFO(reports.text());
    CHECK(reports.has("129 threads per block, but its __launch_bounds__ allow 128"));
    CHECK(reports.has("72 threads per block, but its __launch_bounds__ allow 64"));
    CHECK(reports.has("in kernel bounded_side<8>"));
    CHECK(reports.has(at_line(kBoundedLine)));
  }
  write_index<<<4, 128>>>(data, 512);  // the device still works
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a kernel that never ends is stopped") {
  const Reports reports;
  int* flag = device_integers(1);
  loop_until<<<1, 4>>>(flag);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
  INFO(reports.text());
  CHECK(reports.has("time limit"));
  CHECK(reports.last().fault == FaultKind::kKernelTime);
  CHECK(reports.has("1 thread running: (0,0,0)"));
  CHECK(reports.has("3 threads not begun: (1,0,0) to (3,0,0)"));
  CHECK(reports.has("test_kernel_faults.cu:"));
}

TEST_CASE("threads of a stopped kernel stand before, behind and in barriers") {
  const Reports reports;
  int* flag = device_integers(1);
  loop_between_barriers<<<1, 64>>>(flag);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
  INFO(reports.text());
  const std::string met = "last seen in __syncthreads at";
  CHECK(reports.has("24 threads running, " + met));  // 41 … 63, which may go on, and 40
  CHECK(reports.has(at_line(kMeetLine)));
  CHECK(reports.has("40 threads waiting in __syncthreads at"));
  CHECK(reports.has(at_line(kMeetLine + 4)));
}

TEST_CASE("a grid that is stopped between two blocks has not succeeded") {
  const Reports reports;
  empty<<<dim3(65535, 65535), 1>>>();
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
  INFO(reports.text());
  CHECK(reports.last().fault == FaultKind::kSlowKernel);  // its blocks went on ending
  CHECK(reports.has("in kernel empty"));
  CHECK(reports.has(" of 4294836225 "));
}

TEST_CASE("a kernel that prints without end leaves printf to others") {
  const Reports reports;
  int* flag = device_integers(1);
  std::fflush(stdout);
  const int screen = dup(STDOUT_FILENO);
  REQUIRE(std::freopen("/dev/null", "w", stdout) != nullptr);
  print_until<<<1, 1>>>(flag);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("the host prints\n");
  std::fflush(stdout);
  dup2(screen, STDOUT_FILENO);
  close(screen);
  CHECK(error == cudaErrorLaunchTimeout);
  INFO(reports.text());
  CHECK(reports.has("in kernel print_until, block (0,0,0), thread (0,0,0)"));
  CHECK(reports.has("1 of 1 blocks of the grid had begun"));
}

TEST_CASE("an exception ends the kernel") {
  const Reports reports;
  int* data = device_integers(1);
  throw_up<<<1, 1>>>(data);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("an exception left the kernel: no such row"));
  CHECK(reports.has("in kernel throw_up, block (0,0,0), thread (0,0,0)"));
}

TEST_CASE("equal launches in one function keep the kernel's lines") {
  const Reports reports;
  int* data = device_integers(1024);
  write_index<<<1, 128>>>(data, 128);
  write_index<<<1, 128>>>(data, 128);
  write_index<<<8, 128>>>(data, 1024);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  write_index<<<9, 128>>>(data, 1025);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  INFO(reports.text());
  CHECK(reports.has(at_line(kWriteLine)));
}

TEST_CASE("a stack overflow is named") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  recursive<<<1, 1>>>(out, wrong ? 1000000 : 10);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorHardwareStackError : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.has("stack overflow") == wrong);
  CHECK(reports.empty() != wrong);
}

TEST_CASE("a local array that is larger than the stack is named") {
  const Reports reports;
  int* out = device_integers(1);
  large_array<<<1, 1>>>(out, 5);
  CHECK(cudaDeviceSynchronize() == cudaErrorHardwareStackError);
  CHECK(reports.has("stack overflow: the thread's calls and local arrays need more than"));
}

TEST_CASE("assert and trap end the kernel") {
  const Reports reports;
  int* data = device_integers(1);
  check<<<1, 1>>>(data, 0);
  trap<<<1, 1>>>(false);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  SECTION("trap") {
    trap<<<1, 1>>>(true);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(reports.has("__trap()"));
  }
  SECTION("assert") {
    check<<<1, 1>>>(data, 1);
    CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
    CHECK(reports.has("assertion `data[0] == expected' failed"));
  }
}

TEST_CASE("a failed kernel is the first failed block's, on any number of cores") {
  const Reports reports;
  int* data = device_integers(1024);
  write_index<<<64, 128>>>(data, 1 << 20);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(reports.has("block (8,0,0), thread (0,0,0)"));
}

// The sanitizers end the program.
#if !CONVLAB_ADDRESS_SANITIZER

TEST_CASE("an integer division by zero is reported") {
  const Reports reports;
  int* out = device_integers(1);
  divide<<<1, 1>>>(out, 7);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  divide<<<1, 1>>>(out, 0);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("integer division by zero"));
}

TEST_CASE("the least integer by -1 is reported") {
  const Reports reports;
  int* out = device_integers(1);
  divide_by<<<1, 1>>>(out, INT_MIN, -1);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("the least integer by -1"));
}

#endif
