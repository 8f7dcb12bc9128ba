// convlab-run: what a kernel does wrong with memory, in forms that a compiler may hide.

#include <algorithm>
#include <string>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/run/tests/program.hpp"

using convlab::testing::contains;
using convlab::testing::Program;
using convlab::testing::run_command;

namespace {

const char* const kProgram = R"(#include <cstdlib>
#include <cstring>
#include <new>
enum Small : unsigned char { kOne = 1, kMany = 200 };
struct Row { float v[12]; };
__device__ int counter;
__global__ void k(char mode, float* out, int n, size_t host) {
  __shared__ Row rows[64];
  const int i = threadIdx.x;
  int* piece = static_cast<int*>(malloc(40));
  memset(&rows[i], i, sizeof(Row));
  __syncthreads();
  char* const bytes = reinterpret_cast<char*>(out);
  switch (mode) {
    case 'r': { long long* many = new (std::nothrow) long long[n]; many[0] = Small(kMany); delete[] many; } break;
    case 'a': memcpy(&rows[i], &rows[(i + 1) % 64], n); break;
    case 'b': memset(&rows[i % 32], i, 48); break;
    case 'c': memmove(out, out + 63, 12); break;
    case 'e': out[0] = __ldg(reinterpret_cast<const float4*>(bytes + 8)).x; break;
    case 'f': free(piece); break;
    case 'g': free(piece + 4); break;
    case 'h': free(reinterpret_cast<void*>(host)); break;
    case 'i': counter = 1; break;
  }
  free(piece);
}
int main(int, char** arguments) {
  const char mode = arguments[1][0];
  float* out;
  int host = 0;
  cudaMalloc(&out, 256);
  cudaMemset(out, 0, 256);
  k<<<1, 64>>>(mode, out, 48, reinterpret_cast<size_t>(malloc(4)));
  if (mode == 'i') {
    cudaMemcpy(&counter, &host, 4, cudaMemcpyDefault);
    cudaMemcpy(&host, &counter, 4, cudaMemcpyHostToHost);
  }
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
})";

std::string output(const Program& program, char mode) {
  return run_command("cd '" + program.folder.path().string() + "' && ./built " + mode + " 2>&1")
      .out;
}

/// The line of program.cu that begins so.
std::string place(const std::string& begin) {
  const std::string text = kProgram;
  const auto last = text.begin() + static_cast<std::ptrdiff_t>(text.find(begin));
  return "program.cu:" + std::to_string(1 + std::count(text.begin(), last, '\n'));
}

}  // namespace

TEST_CASE("convlab-run tells of copies, misaligned loads and wrong frees in kernels") {
  if (CONVLAB_ADDRESS_SANITIZER) return;  // its own checks stand in the place of ours
  const Program program(kProgram);
  REQUIRE(program.run("", "-o built ").out.empty());
  CHECK(output(program, 'r') == "cudaSuccess\n");
  const struct {
    char mode;
    const char* text;
  } rows[] = {{'c', "past the end of allocation"},
              {'e', "the type float4 needs a multiple of 16 bytes"},
              {'g', "no malloc or new of a kernel has given"},
              {'h', "no malloc or new of a kernel has given"}};
  for (const auto& row : rows) {
    const std::string report = output(program, row.mode);
    INFO(report);
    CHECK(contains(report, row.text));
    CHECK(contains(report, place(std::string("    case '") + row.mode)));
  }
  CHECK(contains(output(program, 'f'), "or that was freed before"));
  CHECK(contains(output(program, 'f'), place("  free(piece);\n}")));
  const std::string copies = output(program, 'i');
  INFO(copies);
  CHECK(contains(copies, "cudaMemcpy: the target is the device variable counter"));
  CHECK(contains(copies, "cudaMemcpy: the source is the device variable counter"));
}

TEST_CASE("convlab-run --races sees memcpy, memmove and memset") {
  if (CONVLAB_ADDRESS_SANITIZER) return;
  const Program program(kProgram);
  REQUIRE(program.run("", "--races -o built ").out.empty());
  CHECK(output(program, 'r') == "cudaSuccess\n");
  for (const char mode : {'a', 'b'}) {
    const std::string report = output(program, mode);
    INFO(report);
    CHECK(contains(report, "race in kernel k: two threads use"));
    CHECK(contains(report, place(std::string("    case '") + mode)));
  }
  CHECK(contains(output(program, 'c'), "past the end of allocation"));
}
