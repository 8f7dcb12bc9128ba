// convlab-run: what it says of what it does not take.

#include <fstream>
#include <string>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/run/tests/program.hpp"

using convlab::testing::contains;
using convlab::testing::kRun;
using convlab::testing::Program;
using convlab::testing::run_command;
using convlab::testing::TemporaryFolder;

TEST_CASE("convlab-run: a wrong command line gets one sentence") {
  CHECK(run_command(kRun + "2>&1").out ==
        "convlab-run: No source was named. Example: build/bin/convlab-run vector_add.cu\n");
  CHECK(run_command(kRun + "none.cu 2>&1").out == "convlab-run: There is no file none.cu.\n");
  CHECK(run_command(kRun + "--strange 2>&1").exit_code == 2);
  CHECK(run_command(kRun + "--help").exit_code == 0);
}

TEST_CASE("convlab-run: a function of CUDA that is not emulated is called that, once") {
  const Program program(
      "__global__ void k(int* p) { *p = __fns(1, 2, *p); }\n"
      "int main() { return cudaMemPoolDestroy(nullptr) + cudaMemPoolDestroy(0); }");
  const std::string report = program.run("", "-std=c++17 ").out;
  for (const char* name : {"__fns", "cudaMemPoolDestroy"}) {
    const std::string sentence = std::string(name) + " is not emulated";
    const auto first = report.find(sentence);
    REQUIRE(first != std::string::npos);
    CHECK(report.find(sentence, first + 1) == std::string::npos);
  }
}

#if !CONVLAB_ADDRESS_SANITIZER  // which ends a program for some
TEST_CASE(
    "convlab-run: a write of the host beside managed or pinned memory is told with its line") {
  for (const char* allocate : {"cudaMallocManaged", "cudaMallocHost"}) {
    const std::string report =
        Program("int main(int argc, char**) {\n  char* p;\n  " + std::string(allocate) +
                "(&p, 401);\n  for (int i = 0; i < 401 + argc; ++i)\n"
                "    p[i] = 1;\n}")
            .run()
            .out;
    CHECK(contains(report, "outside of its memory, 0 bytes past the end of allocation 1 of 401"));
    CHECK(contains(report, "program.cu:5 (in main)"));
  }
}
#endif

TEST_CASE("convlab-run: a .cpp file that calls the driver API is told so as a .cu file is") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "driver.cpp")
      << "#include <cuda.h>\nint main() { CUdeviceptr p; return cuMemAlloc(&p, 4); }\n";
  const std::string report =
      run_command("cd '" + folder.path().string() + "' && " + kRun + "driver.cpp 2>&1").out;
  CHECK(contains(report, "driver.cpp:2: error: CUDA's driver API cannot be emulated"));
  CHECK(!contains(report, "not declared"));
}

TEST_CASE("convlab-run: a destructor that calls the API in a kernel ends it with a report") {
  const bool is_deduced = GENERATE(true, false);  // others end their arguments on the host
  const Program program(R"(struct Array {
  int* p = nullptr;
  ~Array() { cudaFree(p); }
};
)" +
                        std::string(is_deduced
                                        ? "template <typename T> __global__ void use(T a) {}\n"
                                        : "__global__ void use(Array a) {}\n") +
                        R"(int main() {
  Array a;
  use<<<1, 1>>>(a);
  return cudaDeviceSynchronize() != cudaSuccess;
})");
  const auto result = program.run();
  CHECK(result.exit_code == (is_deduced ? 1 : 0));
  CHECK(contains(result.out, "cudaFree is called in a kernel, and only the host may call it") ==
        is_deduced);
}
