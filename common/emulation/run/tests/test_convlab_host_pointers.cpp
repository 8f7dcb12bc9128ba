// convlab-run: pointers of the host that a kernel gets inside of something else.

#include <string>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/run/tests/program.hpp"

using convlab::testing::contains;
using convlab::testing::Program;
using convlab::testing::run_command;

TEST_CASE("convlab-run: a kernel that follows a host pointer in what it got is told its line") {
  if (CONVLAB_ADDRESS_SANITIZER) return;  // its own checks stand in the place of ours
  const Program program(R"(#include <cstdio>
#include <cstdlib>
#include <vector>
struct Row { int count; float* values; };
__constant__ float* constant;
__device__ float* variable;
static float fixed[32];
__global__ void by_value(Row row, float* out) {
  out[threadIdx.x] = row.values[threadIdx.x];
}
__global__ void by_list(const Row* rows, float* out) {
  out[threadIdx.x] = rows[0].count < 1 ? 0 : rows[1].values[threadIdx.x];
}
__global__ void by_constant(float* out) {
  out[threadIdx.x] = constant[threadIdx.x];
}
__global__ void by_variable(float* out) {
  variable[threadIdx.x] = out[threadIdx.x];
}
int main(int, char** arguments) {
  const char kind = arguments[1][0];
  float *out, *right, local[32] = {};
  Row* rows;
  cudaMalloc(&out, 128);
  cudaMalloc(&right, 128);
  cudaMemset(out, 0, 128);
  cudaMemset(right, 0, 128);
  cudaMalloc(&rows, 2 * sizeof(Row));
  std::vector<float> vector(32, 1.0f);
  if (kind == 'p') cudaMallocHost(&right, 128);
  if (kind == 'g') cudaHostRegister(right = (float*)malloc(4096), 4096, 0);
  float* pointer = kind == 'h' ? (float*)malloc(128) : kind == 'v' ? vector.data()
                   : kind == 's' ? fixed : kind == 'l' ? local : right;
  // A host's pointer that no kernel follows.
  const Row list[] = {{1, vector.data()}, {1, pointer}};
  cudaMemcpy(rows, list, sizeof list, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(constant, &pointer, sizeof pointer);
  cudaMemcpyToSymbol(variable, &pointer, sizeof pointer);
  vector.assign(32, 2.0f);
  switch (arguments[1][1]) {
    case '1': by_value<<<1, 32>>>({1, pointer}, out); break;
    case '2': by_list<<<1, 32>>>(rows, out); break;
    case '3': by_constant<<<1, 32>>>(out); break;
    case '4': by_variable<<<1, 32>>>(out); break;
  }
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
})");
  REQUIRE(program.run("", "-o built ").out.empty());
  const auto run = [&](const std::string& kind) {
    return run_command("cd '" + program.folder.path().string() + "' && ./built " + kind + " 2>&1")
        .out;
  };
  for (const std::string right : {"d1", "d2", "d3", "d4", "p1", "p2", "p3", "p4", "g2"})
    CHECK(run(right) == "cudaSuccess\n");
  const std::string lines[] = {"9", "12", "15", "18"};
  for (const std::string kind : {"h", "v", "s", "l"})
    for (const std::string& line : lines) {
      const auto number = std::to_string(&line - lines + 1);
      const std::string report = run(kind + number);
      INFO(kind + number + ": " + report);
      CHECK(contains(report, "is memory of the host: its pointer came with a struct"));
      CHECK(contains(report, "program.cu:" + line));
      CHECK(contains(report, "cudaErrorIllegalAddress"));
    }
}

TEST_CASE("convlab-run: a program that wants what is not precompiled is compiled") {
  const Program program(R"(#include <cmath>
#include <cstdio>
__global__ void two(double* out) { *out = 2; }
int main() {
  double* out;
  cudaMallocManaged(&out, 8);
  two<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  std::printf("%.6f\n", std::riemann_zeta(*out));
})");
  CHECK(program.run().out == "1.644934\n");
}
