// The host uses device memory. Each case is a child process, because the fault ends it.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/tests/fault_reports.hpp"

using convlab::emulation::at_line;
using convlab::emulation::contains;
using convlab::emulation::device_integers;
using convlab::emulation::end_of;

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

namespace {
__constant__ float weights[100];
__device__ int total = 5;
__device__ const int kSize = 4;
__global__ void add_to_total(int* seen) {
  total += kSize;
  *seen = total;
}
// The compiler does not know where it points: it refuses an index that it sees to be wrong.
int* unknown(int* place) {
  int* volatile same = place;
  return same;
}
}  // namespace

TEST_CASE("the host that uses a variable of the device by its name is told") {
  // AddressSanitizer tells of the last one itself.
  const int way = GENERATE(range(0, CONVLAB_ADDRESS_SANITIZER ? 3 : 4));
  constexpr int kUse = __LINE__ + 4;
  const std::string text = end_of([way] {
    device_integers(1);  // the test's own handlers come first before it
    const float numbers[100] = {};
    if (way == 0) std::memcpy(weights, numbers, sizeof numbers);
    if (way == 1) total = 3;
    if (way == 2) std::printf("%d", total);
    if (way == 3) unknown(&total)[1] = 3;
  });
  INFO(text);
  CHECK(contains(text, way == 0 ? "the device variable weights" : "the device variable total"));
  CHECK(contains(text, at_line(kUse + way)));
  CHECK(contains(text, "cudaMemcpyToSymbol"));
  CHECK(contains(text, "signal 11"));
}

TEST_CASE("variables of the device are copied by their names, and constants are the host's, too") {
  int* seen = device_integers(1);
  const int begin = 10;
  CHECK(cudaMemcpyToSymbol(total, &begin, sizeof begin) == cudaSuccess);
  add_to_total<<<1, 1>>>(seen);
  int by_name = 0;
  int by_kernel = 0;
  CHECK(cudaMemcpyFromSymbol(&by_name, total, sizeof by_name) == cudaSuccess);
  CHECK(cudaMemcpy(&by_kernel, seen, sizeof by_kernel, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(by_name == begin + kSize);
  CHECK(by_kernel == by_name);
  cudaFree(seen);
}

// The sanitizers find the fault themselves and end the program.
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

#endif
