// convlab-run: what is told, and what is not, of memory that nobody has written.

#include <string>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/run/tests/program.hpp"

using convlab::testing::contains;
using convlab::testing::Program;

TEST_CASE("convlab-run: a result that was computed from memory that nobody wrote is told") {
  const Program program(R"(__global__ void add(const float* x, float* y) { *y = *x + 1; }
int main() {
  float *x, *y, result;
  cudaMalloc(&x, 4);
  cudaMalloc(&y, 4);
  add<<<1, 1>>>(x, y);
  cudaMemcpy(&result, y, 4, cudaMemcpyDeviceToHost);
})");
  const std::string report = program.run().out;
  CHECK(contains(report, "brings 1 number to the host"));
  CHECK(contains(report, "nobody has written: 0 bytes into allocation 1 of 4 bytes"));
  CHECK(contains(report, "program.cu:7"));
}

TEST_CASE("convlab-run: whole numbers that were added to what nobody wrote are told, everywhere") {
  const Program program(R"(#include <vector>
__global__ void add(int* sums) { sums[blockIdx.x] += blockIdx.x % 7 * 100; }
int main(int argc, char**) {
  const int n = 300000;
  int* sums;
  cudaMalloc(&sums, n * 4);
  if (argc > 1) cudaMemset(sums, 0, n * 4);
  add<<<n, 1>>>(sums);
  std::vector<int> results(1000);
  cudaMemcpy(results.data(), sums + n - 1000, 4000, cudaMemcpyDeviceToHost);
})");
  CHECK(program.run("zeros").out.empty());
  const std::string report = program.run().out;
  CHECK(contains(report, "brings 1000 numbers to the host from memory that nobody has written"));
  CHECK(contains(report, "before something was added to it: 1196000 bytes into allocation 1"));
  CHECK(contains(report, "program.cu:10"));
}

TEST_CASE("convlab-run: pixels that look like fresh memory are no report") {
  const Program program(R"(#include <cstdio>
__global__ void k(uchar4* out) {
  __shared__ unsigned char table[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < 65536; i += blockDim.x)
    out[i] = make_uchar4(table[i % 256], table[i / 256], table[192 + i % 64], table[255]);
}
int main() {
  uchar4 *d;
  static uchar4 h[65536];
  cudaMalloc(&d, sizeof h);
  k<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  puts(h[9].w == 255 ? "ok" : "wrong");
})");
  CHECK(program.run().out == "ok\n");
}

TEST_CASE("convlab-run: integers that look like fresh memory are no report") {
  const Program program(R"(#include <cstdio>
__global__ void fill(int* p) {
  for (int i = threadIdx.x; i < 100000; i += blockDim.x) p[i] = i % 2 ? -2 - 40 * i : 0xfff7fff7;
}
int main() {
  int *p, result[1000];
  cudaMalloc(&p, 400000);
  fill<<<1, 64>>>(p);
  for (int i = 0; i < 100; i++) cudaMemcpy(result, p + 1000 * i, 4000, cudaMemcpyDeviceToHost);
  puts("end");
})");
  CHECK(program.run().out == "end\n");
}

TEST_CASE("convlab-run: an atomic operation that begins with unwritten memory is told") {
  const Program program(R"(__device__ void add(unsigned* p) { atomicAdd(p, 1); }
__global__ void sum(unsigned* g) {
  __shared__ unsigned bins[4], ready;
  if (threadIdx.x < 3) bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) atomicExch(&ready, 0);
  __syncthreads();
  atomicAdd(&ready, 1);
  add(&bins[threadIdx.x % 3]);
  if (g == nullptr) return;
  atomicMax(&bins[3], 1);
  atomicCAS(g + threadIdx.x, 7, 1);
}
int main(int argc, char**) {
  unsigned* g;
  cudaMalloc(&g, 256);
  sum<<<1, 32>>>(argc > 1 ? g : nullptr);
  return cudaDeviceSynchronize();
})");
  CHECK(program.run().out.empty());
  const std::string report = program.run("all").out;
  CHECK(contains(report, "begins with what nobody has written, 12 bytes into the shared variable"));
  CHECK(contains(report, "program.cu:10"));
  CHECK(contains(report, "0 bytes into allocation 1 of 256 bytes"));
  CHECK(contains(report, "program.cu:11"));
}

#if !CONVLAB_ADDRESS_SANITIZER

TEST_CASE("convlab-run: sums of integers that nobody has written are told with --races") {
  const auto report = [](const std::string& type, const std::string& written) {
    return Program(
               "struct Pair { short a; char b[3]; };\n"
               "__global__ void store(int* g, float4* v) { v->x = v->y = v->z = g[50] = 1; }\n"
               "__global__ void sum(int* g, float4* v) {\n  extern __shared__ " +
               type + " s[];\n  __syncthreads();\n  " + written +
               ";\n  float4 all = *v;\n"  // its w is unwritten, and is not needed
               "  int n = all.x;\n  for (int i = 0; i < 8; ++i) n += " +
               (type == "Pair" ? "s[i].b[1]" : "s[i]") +
               ";\n  n += g[50];\n  *g = n;\n}\nint main() {\n  int* g;\n"
               "  cudaMalloc(&g, 240);\n  store<<<1, 1>>>(g, (float4*)(g + 52));\n"
               "  sum<<<1, 1, 64>>>(g, (float4*)(g + 52));\n  return cudaDeviceSynchronize();\n}")
        .run("", "--races ")
        .out;
  };
  CHECK(report("short", "for (int i = 0; i < 8; ++i) s[i] = 1").empty());
  const std::string odd = report("short", "for (int i = 0; i < 8; i += 2) s[i] = 1");
  CHECK(contains(odd, "reads byte 2 of dynamic shared memory, which no thread of the block has"));
  CHECK(contains(odd, "program.cu:9"));
  CHECK(contains(report("Pair", "for (int i = 0; i < 8; ++i) s[i].a = s[i].b[2] = 1"),
                 "reads byte 3 of dynamic shared memory"));
  const std::string global = report("int", "for (int i = 0; i < 8; ++i) s[i] = g[20]");
  CHECK(contains(global, "reads byte 80 of global memory, which nobody has written"));
  CHECK(contains(global, "program.cu:6"));
}

#endif
