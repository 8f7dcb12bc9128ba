// Every class of bug that the emulated device finds, each next to a clean twin that must stay
// silent. A bug is a kernel (or a few calls of the API), an error code and words of the report.

// The optimised builds switch assertions off.
#undef NDEBUG
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/sanitizer.hpp"
#include "common/testing/catch.hpp"

namespace {

using convlab::emulation::ReportSink;
using convlab::emulation::set_report_sink;

// Read when the first kernel starts.
const int kTimeoutIsSet = setenv("CONVLAB_EMU_TIMEOUT", "2", 1);

/// Collects reports, and leaves a working device behind.
class Reports {
 public:
  Reports() : former_(set_report_sink([this](const std::string& text) { all_ += text + "\n"; })) {}
  ~Reports() {
    cudaDeviceReset();
    set_report_sink(former_);
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] const std::string& text() const { return all_; }
  [[nodiscard]] bool has(const std::string& words) const {
    return all_.find(words) != std::string::npos;
  }

 private:
  std::string all_;
  ReportSink former_;
};

int* device_integers(int count) {
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, static_cast<std::size_t>(count) * sizeof(int)) == cudaSuccess);
  return data;
}

std::string at_line(int line) {
  return "test_kernel_faults.cu:" + std::to_string(line);
}

// ---- memory -------------------------------------------------------------------------------------

constexpr int kWriteLine = __LINE__ + 3;
__global__ void write_index(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = i;
}

__global__ void read_index(const int* data, int* out, int i) { *out = data[i]; }

__global__ void read_as_vector(const float* data, float4* out, int offset) {
  *out = *reinterpret_cast<const float4*>(data + offset);
}

__global__ void static_shared(int* out, int last) {
  __shared__ int tile[30];
  for (int i = 0; i <= last; ++i) tile[i] = i;
  *out = tile[0];
}

__global__ void dynamic_shared(int* out, int last) {
  extern __shared__ int tile[];
  tile[last] = 3;
  *out = tile[last];
}

// ---- synchronisation ----------------------------------------------------------------------------

constexpr int kFirstBarrierLine = __LINE__ + 4;
__global__ void branch_barriers(int* out, bool uniform) {
  const bool left = uniform || threadIdx.x < 32;
  if (left) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = 1;
}

constexpr int kLoopBarrierLine = __LINE__ + 3;
__global__ void warp_waits_for_block(int* out, bool wrong) {
  if (threadIdx.x < 16) {
    if (wrong) __syncwarp();
  } else if (wrong) {
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = 1;
}

__global__ void early_return(int* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  if (threadIdx.x == 39) return;
  __syncthreads();
  if (threadIdx.x == 0) *out = 1;
}

__global__ void shuffle_down(int* out, unsigned mask, int width) {
  if (threadIdx.x < 16) {
    const int got = __shfl_down_sync(mask, static_cast<int>(threadIdx.x), 8, width);
    if (threadIdx.x == 0) *out = got;
  }
}

__global__ void loop_until(volatile int* flag) {
  while (*flag == 0) {
  }
}

// ---- others -------------------------------------------------------------------------------------

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

__global__ void check(const int* data, int expected) { assert(data[0] == expected); }

__global__ void trap(bool wrong) {
  if (wrong) __trap();
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
    // The error stays.
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    int* more = nullptr;
    CHECK(cudaMalloc(&more, 4) == cudaErrorIllegalAddress);
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

namespace {

/// What a child process, which has no workers for kernels, writes to standard error, and then how it ended: "exit 0" or "signal 11".
template <typename Body>
std::string end_of(Body body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // the test framework's
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return text + (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                     : "exit " + std::to_string(WEXITSTATUS(status)));
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the host that uses a device pointer is told and ends") {
  constexpr int kMallocLine = __LINE__ + 3;
  const bool write = GENERATE(false, true);
  const std::string text = end_of([write] {
    int* data = device_integers(16);
    volatile int* element = data + 3;
    if (write) *element = 1;
    static_cast<void>(*element);
  });
  INFO(text);
  CHECK(contains(text, "the host used a device pointer, 12 bytes into allocation "));
  CHECK(contains(text, "of 64 bytes"));
  CHECK(contains(text, at_line(kMallocLine + (write ? 2 : 3))));
  CHECK(contains(text, "allocated at "));
  CHECK(contains(text, "cudaMemcpy"));
  CHECK(contains(text, "signal 11"));
}

TEST_CASE("the host may use memory that it shares with the device, up to its end") {
  const bool wrong = GENERATE(false, true);
  const std::string text = end_of([wrong] {
    int* managed = nullptr;
    int* pinned = nullptr;
    cudaMallocManaged(&managed, 4096);
    cudaMallocHost(&pinned, 4096);
    for (int i = 0; i < 1024 + (wrong ? 1 : 0); ++i) managed[i] = pinned[i] = i;
  });
  INFO(text);
  CHECK(contains(text, "outside of its memory, 0 bytes past the end of allocation ") == wrong);
  CHECK(contains(text, wrong ? "signal 11" : "exit 0"));
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

TEST_CASE("different barriers in one block are divergent") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  branch_barriers<<<1, 64>>>(out, !wrong);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorLaunchFailure : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.empty() != wrong);
  if (wrong) {
    CHECK(reports.has("divergent barrier"));
    CHECK(reports.has(at_line(kFirstBarrierLine)));
    CHECK(reports.has(at_line(kFirstBarrierLine + 2)));
    CHECK(reports.has("32 threads waiting in __syncthreads"));
    CHECK(reports.has("(32,0,0) to (63,0,0)"));
  }
}

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
  write_index<<<4, 128>>>(data, 512);  // the device goes on
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("threads that can never meet are a deadlock") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  warp_waits_for_block<<<1, 32>>>(out, wrong);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorLaunchTimeout : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.empty() != wrong);
  if (wrong) {
    CHECK(reports.has("deadlock"));
    CHECK(reports.has("16 threads waiting in __syncwarp (mask 0xffffffff) at"));
    CHECK(reports.has(at_line(kLoopBarrierLine)));
    CHECK(reports.has("16 threads waiting in __syncthreads"));
  }
}

TEST_CASE("leaving a kernel before a barrier is legal") {
  const Reports reports;
  int* out = device_integers(1);
  early_return<<<3, 256>>>(out);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  int value = 0;
  REQUIRE(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(value == 1);
}

TEST_CASE("reading a lane outside the mask is noted") {
  const Reports reports;
  int* out = device_integers(1);
  shuffle_down<<<1, 32>>>(out, 0xffff, 16);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  shuffle_down<<<1, 32>>>(out, 0xffff, 32);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  INFO(reports.text());
  CHECK(reports.has("lane 8 reads lane 16, which does not take part (mask 0x0000ffff)"));
}

TEST_CASE("a mask names its caller") {
  const Reports reports;
  int* out = device_integers(1);
  shuffle_down<<<1, 32>>>(out, 0x00ff, 16);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("__shfl_down_sync is called by lane 8, which its mask 0x000000ff does not name"));
}

TEST_CASE("a kernel that never ends is stopped") {
  const Reports reports;
  int* flag = device_integers(1);
  loop_until<<<1, 4>>>(flag);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
  INFO(reports.text());
  CHECK(reports.has("time limit"));
  CHECK(reports.has("1 thread running: (0,0,0)"));
  CHECK(reports.has("3 threads not begun: (1,0,0) to (3,0,0)"));
  CHECK(reports.has("test_kernel_faults.cu:"));
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

TEST_CASE("free() of a device pointer is told") {
  const std::string text = end_of([] {
    void* volatile data = device_integers(1024);
    std::free(data);
  });
  INFO(text);
  CHECK(contains(text, "8 bytes before the start of allocation "));
  CHECK(contains(text, "free() of a device pointer?"));
  CHECK(contains(text, "signal 11"));
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

TEST_CASE("static shared memory has an end") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  static_shared<<<1, 1>>>(out, wrong ? 30 : 29);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorIllegalAddress : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.has("a thread wrote 0 bytes past the end of the shared variable tile of 120 bytes") ==
        wrong);
  CHECK(reports.empty() != wrong);
}

TEST_CASE("dynamic shared memory has an end") {
  const Reports reports;
  int* out = device_integers(1);
  const int last = GENERATE(7, 8, 8000000);
  dynamic_shared<<<1, 1, 32>>>(out, last);
  CHECK(cudaDeviceSynchronize() == (last == 7 ? cudaSuccess : cudaErrorIllegalAddress));
  INFO(reports.text());
  if (last == 8) CHECK(reports.has("0 bytes past the end of the block's 32 bytes of dynamic shared"));
  CHECK(reports.empty() == (last == 7));
}

TEST_CASE("an integer division by zero is reported") {
  const Reports reports;
  int* out = device_integers(1);
  divide<<<1, 1>>>(out, 7);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  divide<<<1, 1>>>(out, 0);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("integer division by zero"));
}

#endif
