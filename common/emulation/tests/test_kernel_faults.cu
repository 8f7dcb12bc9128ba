// Kernels that end early or never: time limit, stack, assertions, launch bounds.

// The optimised builds switch assertions off.
#undef NDEBUG
#include <cassert>
#include <climits>
#include <cstdio>
#include <stdexcept>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/tests/fault_reports.hpp"

namespace {

using convlab::emulation::at_line;
using convlab::emulation::check;
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

__global__ void divide(int* out, int dividend, int divisor) { *out = dividend / divisor; }

__global__ void claim(const int* data, int expected) { assert(data[0] == expected); }

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

TEST_CASE("faults of kernels have their codes and words, and right twins none") {
  check({
      {"launch bounds, kept", [] {
         bounded<<<1, 128>>>(device_integers(512), 512);
         bounded_side<8><<<1, dim3(8, 8)>>>(device_integers(512), 512);
       }, cudaSuccess},
      {"launch bounds, exceeded", [] {
         int* data = device_integers(512);
         bounded<<<1, 129>>>(data, 512);
         CHECK(cudaGetLastError() == cudaErrorInvalidValue);
         bounded_side<8><<<1, dim3(8, 9)>>>(data, 512);
         CHECK(cudaGetLastError() == cudaErrorInvalidValue);
         write_index<<<4, 128>>>(data, 512);  // the device still works
       }, cudaSuccess,
       {"129 threads per block, but its __launch_bounds__ allow 128",
        "72 threads per block, but its __launch_bounds__ allow 64", "in kernel bounded_side<8>",
        at_line(kBoundedLine)}},
      {"no end", [] { loop_until<<<1, 4>>>(device_integers(1)); }, cudaErrorLaunchTimeout,
       {"time limit", "1 thread running: (0,0,0)", "3 threads not begun: (1,0,0) to (3,0,0)",
        "test_kernel_faults.cu:"}, FaultKind::kKernelTime},
      // Threads 41 to 63, which may go on, and thread 40 stand behind a barrier, the others in one.
      {"no end between barriers", [] { loop_between_barriers<<<1, 64>>>(device_integers(1)); },
       cudaErrorLaunchTimeout,
       {"24 threads running, last seen in __syncthreads at", at_line(kMeetLine),
        "40 threads waiting in __syncthreads at", at_line(kMeetLine + 4)}},
      {"too many blocks, which go on ending", [] { empty<<<dim3(65535, 65535), 1>>>(); },
       cudaErrorLaunchTimeout, {"in kernel empty", " of 4294836225 "}, FaultKind::kSlowKernel},
      {"an exception", [] { throw_up<<<1, 1>>>(device_integers(1)); }, cudaErrorLaunchFailure,
       {"an exception left the kernel: no such row",
        "in kernel throw_up, block (0,0,0), thread (0,0,0)"}},
      {"equal launches in one function keep the kernel's lines", [] {
         int* data = device_integers(1024);
         write_index<<<1, 128>>>(data, 128);
         write_index<<<1, 128>>>(data, 128);
         write_index<<<8, 128>>>(data, 1024);
         CHECK(cudaDeviceSynchronize() == cudaSuccess);
         write_index<<<9, 128>>>(data, 1025);
       }, cudaErrorIllegalAddress, {at_line(kWriteLine)}},
      {"recursion", [] { recursive<<<1, 1>>>(device_integers(1), 10); }, cudaSuccess},
      {"recursion without end", [] { recursive<<<1, 1>>>(device_integers(1), 1000000); },
       cudaErrorHardwareStackError, {"stack overflow"}},
      {"an array larger than the stack", [] { large_array<<<1, 1>>>(device_integers(1), 5); },
       cudaErrorHardwareStackError,
       {"stack overflow: the thread's calls and local arrays need more than"}},
      {"assertions that hold", [] {
         claim<<<1, 1>>>(device_integers(1), 0);
         trap<<<1, 1>>>(false);
       }, cudaSuccess},
      {"a trap", [] { trap<<<1, 1>>>(true); }, cudaErrorLaunchFailure, {"__trap()"}},
      {"an assertion", [] { claim<<<1, 1>>>(device_integers(1), 1); }, cudaErrorAssert,
       {"assertion `data[0] == expected' failed"}},
      {"of several blocks, on any number of cores, the first one's is told",
       [] { write_index<<<64, 128>>>(device_integers(1024), 1 << 20); }, cudaErrorIllegalAddress,
       {"block (8,0,0), thread (0,0,0)"}},
#if !CONVLAB_ADDRESS_SANITIZER  // which ends the program
      {"a division", [] { divide<<<1, 1>>>(device_integers(1), 7, 7); }, cudaSuccess},
      {"a division by zero", [] { divide<<<1, 1>>>(device_integers(1), 7, 0); },
       cudaErrorLaunchFailure, {"integer division by zero"}},
      {"the least integer by -1", [] { divide<<<1, 1>>>(device_integers(1), INT_MIN, -1); },
       cudaErrorLaunchFailure, {"the least integer by -1"}},
#endif
  });
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
