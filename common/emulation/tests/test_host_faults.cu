// The host uses device memory. Each case is a child process, because the fault ends it.

#include <cstdlib>

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
