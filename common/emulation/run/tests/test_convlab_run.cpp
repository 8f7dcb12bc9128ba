// convlab-run: programs of one's own, as their owner meets it.

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/emulation/run/tests/program.hpp"

using convlab::testing::contains;
using convlab::testing::kRun;
using convlab::testing::Program;
using convlab::testing::run_command;
using convlab::testing::TemporaryFolder;

TEST_CASE("convlab-run: builds, runs, hands arguments and the exit code on") {
  const Program program(R"(#include <cstdio>
__global__ void add(int* p, int x) { atomicAdd(p, x); }
int main(int argc, char** argv) {
  int* p;
  cudaMallocManaged(&p, sizeof(int));
  *p = 0;
  add<<<2, 32>>>(p, argc);
  cudaDeviceSynchronize();
  printf("sum %d of %s\n", *p, argv[1]);
  return 7;
})");
  const auto result = program.run("first --second");
  CHECK(result.exit_code == 7);
  CHECK(result.out == "sum 192 of first\n");
}

#if !CONVLAB_ADDRESS_SANITIZER
TEST_CASE("convlab-run: reads beside arrays of any kind are found, with their line") {
  const Program program(R"(#include <cstdio>
#include <cstdlib>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
extern __shared__ __align__(512) char tile[];
__constant__ int weights[5];
__device__ short numbers[7] = {1};
__managed__ double both[3];
__global__ void global(const int* in, int* out, int at) { out[0] = in[at]; }
__global__ void bytes(const char* in, int* out, int at) { out[0] = in[at]; }
__global__ void fixed(const int*, int* out, int at) {
  __shared__ short first[5], second[3][5];
  first[0] = second[0][0] = 0;
  out[0] = second[0][at];
}
__global__ void dynamic(const int*, int* out, int at) { tile[0] = 0; out[0] = tile[at] + (size_t)tile % 512; }
__global__ void constant(const int*, int* out, int at) { out[0] = weights[at]; }
__global__ void device(const int*, int* out, int at) { numbers[at] = 1; }
__global__ void managed(const int*, int* out, int at) { out[0] = both[at]; }
__global__ void fill(char* in, int* out, int at) { memset(in + at, 0, blockDim.x + 4); }
__global__ void copy(const char* in, int* out, int at) {
  __shared__ char s[16];
  cooperative_groups::memcpy_async(cooperative_groups::this_thread_block(), s, in + at, 16);
  cooperative_groups::wait(cooperative_groups::this_thread_block());
}
template <int N> __global__ void many(const int* in, int* out, int at) {
  int sum = 0;
#define TEN(i) sum += in[at * i] + in[at * (i + 1)] * in[at + 1] + in[at % (i + 2)] * in[at / (i + 1)];
#define HUNDRED TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)
  HUNDRED out[0] = sum; HUNDRED out[0] = sum; HUNDRED out[0] = sum; HUNDRED out[0] = sum; HUNDRED
  out[0] = sum;
}
__global__ void wide(const int* in, int* out, int) { atomicMax((unsigned long long*)in, 7ull); }
template <typename T, int N = 3> __constant__ T shapes[N];
__global__ void generic(const int*, int* out, int at) { out[0] = shapes<int>[at]; }
__device__ const short fixed_numbers[3] = {0, 0, 0};
__global__ void unchanged(const int*, int* out, int at) { out[0] = fixed_numbers[at]; }
__global__ void heap(const int*, int* out, int at) {
  int* own = new int[5]();
  out[0] = own[at];
  delete[] own;
  if (at == 4) out[0] = own[0];
}
int main(int, char** words) {
  int *in, *out, result = -1;
  cudaMalloc(&in, 76);
  cudaMalloc(&out, 4);
  cudaMemset(in, 0, 76);
  const int at = atoi(words[2]);
  switch (*words[1]) {
    case 'g': global<<<1, 1>>>(in, out, at); break;
    case 'b': bytes<<<1, 1>>>((const char*)in, out, at); break;
    case 'f': fixed<<<1, 1>>>(in, out, at); break;
    case 'd': dynamic<<<1, 1, 33>>>(in, out, at); break;
    case 'c': constant<<<1, 1>>>(in, out, at); break;
    case 'v': device<<<1, 1>>>(in, out, at); break;
    case 'm': managed<<<1, 1>>>(in, out, at); break;
    case 's': fill<<<1, 1>>>((char*)in, out, at); break;
    case 'a': copy<<<1, 1>>>((char*)in, out, at); break;
    case 'n': many<1><<<1, 1>>>(in, out, at); break;
    case 'w': wide<<<1, 1>>>(in, out, at); break;
    case 't': generic<<<1, 1>>>(in, out, at); break;
    case 'u': unchanged<<<1, 1>>>(in, out, at); break;
    case 'h': heap<<<1, 1>>>(in, out, at);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
  printf("%d %d\n", error, (int)((size_t)in % 256));
})");
  REQUIRE(program.run("", "-o built ").exit_code == 0);
  const auto run = [&](const std::string& words) {
    return run_command("'" + program.folder.path().string() + "/built' " + words + " 2>&1").out;
  };
  for (const char* right : {"g 0", "g 18", "b 75", "f 0", "f 14", "d 0", "d 32", "w 0", "c 4",
                            "v 6", "m 2", "s 71", "a 60", "n 1", "t 2", "u 2", "h 3"})
    CHECK(run(right) == "0 0\n");
  const std::string end = "past the end of ";
  const std::string start = "before the start of ";
  for (const auto& [words, place, line] : std::vector<std::array<std::string, 3>>{
           {"g -1", "4 bytes " + start + "allocation 1 of 76", "9"},
           {"g -9000", "36000 bytes " + start + "allocation 1 of 76", "9"},
           {"g 19", "0 bytes " + end + "allocation 1 of 76", "9"},
           {"b 76", "0 bytes " + end + "allocation 1 of 76", "10"},
           {"b -1", "1 byte " + start + "allocation 1 of 76", "10"},
           {"f 15", "0 bytes " + end + "the shared variable second of 30", "14"},
           {"f -1", "2 bytes " + start + "the shared variable second of 30", "14"},
           {"d 33", "0 bytes " + end + "the block's 33 bytes of dynamic", "16"},
           {"d -1", "1 byte " + start + "the block's 33 bytes of dynamic", "16"},
           {"c 5", "0 bytes " + end + "the device variable weights of 20", "17"},
           {"c -1", "4 bytes " + start + "the device variable weights of 20", "17"},
           {"v 7", "0 bytes " + end + "the device variable numbers of 14", "18"},
           {"v -1", "2 bytes " + start + "the device variable numbers of 14", "18"},
           {"m 3", "0 bytes " + end + "the device variable both of 24", "19"},
           {"m -1", "8 bytes " + start + "the device variable both of 24", "19"},
           {"s 72", "0 bytes " + end + "allocation 1 of 76", "20"},
           {"a 64", "0 bytes " + end + "allocation 1 of 76", "23"},
           {"n 2", "4 bytes " + end + "allocation 1 of 76", "30"},
           {"t 3", "0 bytes " + end + "the device variable shapes of 12", "35"},
           {"u 3", "0 bytes " + end + "the device variable fixed_numbers of 6", "37"},
           {"h 5", "address", "40"},
           {"h -1", "address", "40"},
           {"h 4", "address", "42"}}) {
    const std::string out = run(words);
    INFO(words << ": " << out);
    CHECK(contains(out, "illegal memory access, " + place));
    CHECK((contains(out, "program.cu:" + line + " ") || contains(out, "program.cu:" + line + ":")));
    CHECK(contains(out, "700 0\n"));
  }
}
#endif

TEST_CASE("convlab-run: where nvcc is installed, its registers are those of a launch") {
  const Program program(R"(#include <cstdio>
template <int N> __global__ void many(int* p) { p[threadIdx.x] = N; }
__global__ void few(int* p) { p[threadIdx.x] = 1; }
int main() {
  int* p;
  cudaMalloc(&p, 4096);
  for (int threads : {384, 512}) {
    many<3><<<1, threads>>>(p);
    printf("%d ", cudaGetLastError());
    few<<<1, threads>>>(p);
    printf("%d\n", cudaGetLastError());
  }
})");
  // What the compiler says, as measured on an H200: there 384 threads of 167 registers run.
  const std::string nvcc = program.folder.path().string() + "/nvcc";
  std::ofstream(nvcc) << "#!/bin/sh\ncat <<'TEXT'\n"
                         "ptxas info    : Compiling entry function '_Z4manyILi3EEvPi' for 'sm_80'\n"
                         "ptxas info    : Used 167 registers, used 0 barriers, 360 bytes cmem[0]\n"
                         "ptxas info    : Compiling entry function '_Z3fewPi' for 'sm_80'\n"
                         "ptxas info    : Used 10 registers, used 0 barriers\nTEXT\n";
  std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
  const auto result = run_command("cd '" + program.folder.path().string() + "' && CUDACXX='" +
                                  nvcc + "' " + kRun + "program.cu 2>&1");
  CHECK(contains(result.out, "0 0\n701 0\n"));
  CHECK(contains(result.out, "a thread takes 167 registers, so a block takes 86016; the limit is"));
}

#if defined(__x86_64__) && !CONVLAB_ADDRESS_SANITIZER
TEST_CASE("convlab-run: an instruction that the processor lacks is told from a trap") {
  const bool lacks = GENERATE(true, false);
  const Program program(R"(extern "C" __device__ void end();
__global__ void k() { end(); }
int main() {
  k<<<1, 1>>>();
  return cudaDeviceSynchronize() == cudaSuccess;
})");
  std::ofstream(program.folder.path() / "end.cpp") << "extern \"C\" void end() { asm(\".byte 0x0f, "
                                                   << (lacks ? "0xff, 0xc0" : "0x0b") << "\"); }\n";
  const auto result = program.run("end.cpp");
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out, lacks ? "this processor lacks an instruction of the program"
                                   : "trap instruction"));
  CHECK(contains(result.out, "end.cpp:1 "));
}
#endif

#if !CONVLAB_ADDRESS_SANITIZER  // which tells it
TEST_CASE("convlab-run: where the host ends by a signal, and why, is told") {
  const Program program(R"(template <class T> __device__ T size = 3;
__global__ void k() {}
int main(int argc, char** words) {
  k<<<1, 1>>>();
  cudaDeviceSynchronize();
  volatile int* nowhere = nullptr;
  volatile int zero = argc - 2;
  switch (*words[1]) {
    case 'd': return 5 / zero;
    case 'n': return *nowhere;
    case 'v': return size<int>;
  }
})");
  for (const auto& [word, name, why] : std::vector<std::array<std::string, 3>>{
           {"d", "FPE", "the host ends here: integer division by zero"},
           {"n", "SEGV", "the host ends here: it follows a null pointer"},
           {"v", "SEGV", "the host used the device variable size by its name"}}) {
    const std::string out = program.run(word).out;
    INFO(word << ": " << out);
    CHECK(contains(out, why));
    CHECK(contains(out, "convlab-run: the program was ended by the signal SIG" + name + "."));
    CHECK_FALSE(contains(out, "line "));
  }
}
#endif

TEST_CASE("convlab-run: assert counts, and the same report is printed three times") {
  const Program program(R"(#include <cassert>
int main() {
  for (int i = 0; i < 9; ++i) cudaSetDevice(3);
  assert(false);
})");
  const auto result = program.run();
  CHECK(result.exit_code != 0);
  CHECK(contains(result.out, "printed no more"));
  CHECK(contains(result.out, "Assertion"));
}

TEST_CASE("convlab-run: a call of a library says that it needs a GPU; C++20 hides no message") {
  const auto result = Program(
                          "#include <cublas_v2.h>\nint main() {\n  cublasHandle_t h;\n"
                          "  cublasCreate(&h);\n}\n")
                          .run();
  CHECK(result.exit_code == 1);
  CHECK(contains(result.out, "program.cu:4"));
  CHECK(contains(result.out, "this library needs a GPU and is not emulated"));
  CHECK(Program("#include <span>\nint main() { return std::span<int>{}.size(); }\n")
            .run()
            .out.empty());
}

TEST_CASE("convlab-run: what nvcc 13 refuses runs, and each is told") {
  const auto result = Program(R"(#include <cstdio>
struct Long { char bytes[32768]; };
const int table[2] = {1, 2};
template <class T> __global__ void fill(T* __restrict__ p) {
  __shared__ T one;
  one = 0;
  extern __shared__ T s[];
  s[0] = table[1];
  p[0] = s[0];
}
__global__ void take(Long l) {}
int three() { return 3; }
__device__ int computed = three();
__constant__ int given = 3;
__device__ int (*three_or_more)(int, int), five(5);
struct Box { int side; __host__ __device__ Box(int s) : side(2 * s) {} };
__device__ Box box(7);
namespace ns { const int array[3] = {1, 2, 3}; }
__global__ void read(int* p) { *p = box.side + ns::array[1] + five; }
int main() {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  double* d;
  cudaMallocManaged(&d, 8);
  cudaMemPrefetchAsync(d, 8, 0);
  fill<<<1, 1, 8>>>(d);
  fill<<<1, 1, 8>>>((float*)d);
  take<<<1, 1>>>(Long{});
  read<<<1, 1>>>((int*)d + 1);
  cudaThreadSynchronize();
  printf("%g %d\n", *(float*)d, p.clockRate > 0);
})")
                          .run();
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out, "\n2 1\n"));
  for (const char* told :
       {"program.cu:8: warning: the variable table of the host", "has no member clockRate",
        "write cudaMemLocation", "write cudaDeviceSynchronize()",
        "the value of the variable computed is computed when the program begins", "program.cu:13",
        "the value of the variable box is computed", "the variable ns::array of the host",
        "the dynamic shared array s has another type than before", "take 32768 bytes"})
    CHECK(contains(result.out, told));
  CHECK_FALSE(contains(result.out, "variable given"));
}

#if !CONVLAB_ADDRESS_SANITIZER  // which takes delete[] for itself

TEST_CASE("convlab-run: values of all types convert to the overloads of CUDA's functions") {
  const Program program(R"(#include <cstdio>
enum Colour { kRed, kGreen };
struct Weight { float value; operator float() const { return value; } };
struct Pointer { int* p; operator int*() const { return p; } };
__global__ void k(int* p) {
  char* const bytes = new char[threadIdx.x + 1];
  bytes[threadIdx.x] = threadIdx.x;
  const int sum = __shfl_sync(~0u, bytes[threadIdx.x], 3) + __shfl_sync(~0u, threadIdx.x == 2, 2) +
                  __shfl_sync(~0u, threadIdx.x == 1 ? kGreen : kRed, 1) +
                  (int)__shfl_sync(~0u, Weight{threadIdx.x * 0.5f}, 9) +
                  __popc(__match_any_sync(~0u, (short)(threadIdx.x / 4)));
  atomicMax(Pointer{p}, sum);
  delete[] bytes;
}
int main() {
  int* p;
  cudaMallocManaged(&p, 4);
  *p = 0;
  k<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  printf("%d\n", *p);
})");
  CHECK(program.run().out == "13\n");
}

// As seen on an H200, driver 580.159.04, on 2026-11-29.
TEST_CASE("convlab-run: of -0 and +0 the first is the smaller one") {
  const Program program(R"(#include <cstdio>
__global__ void k(float a, float b, double c, double d, float* out) {
  out[0] = fminf(b, a);
  out[1] = fmaxf(a, b);
  out[2] = fmin(d, c);
  out[3] = fmax(c, d);
}
int main() {
  float* out;
  cudaMallocManaged(&out, 16);
  k<<<1, 1>>>(-0.0f, 0.0f, -0.0, 0.0, out);
  cudaDeviceSynchronize();
  printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
})");
  CHECK(program.run().out == "-0 0 -0 0\n");
}

TEST_CASE("convlab-run: lanes that count on volatile are told, in shared and in global memory") {
  const auto sum = [](const std::string& memory) {
    return Program(R"(__global__ void sum(volatile int* g) {
  __shared__ volatile int s[32];
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < 16) )" +
                   memory + R"([threadIdx.x] += )" + memory + R"([threadIdx.x + 8];
}
int main() {
  int* g;
  cudaMalloc(&g, 128);
  cudaMemset(g, 0, 128);
  sum<<<1, 32>>>(g);
  return cudaDeviceSynchronize();
})");
  };
  for (const char* memory : {"s", "g"}) {
    const std::string report = sum(memory).run().out;
    CHECK(contains(report, "race in kernel sum"));
    CHECK(contains(report, "program.cu:5"));
    CHECK(contains(report, "read into a variable, then __syncwarp(), then write"));
  }
  CHECK(sum("s").run("", "--no-races ").out.empty());
}

TEST_CASE("convlab-run: a kernel may wait by a volatile flag for a later warp and a later block") {
  const Program program(R"(#include <cstdio>
__device__ volatile int turn;
__device__ int sum;
__global__ void backwards(int rounds) {
  __shared__ volatile int full;
  __shared__ volatile int number;
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x == 0) {
      while (!full) {}
      __threadfence_block();
      atomicAdd(&sum, number);
      __threadfence_block();
      full = 0;
    } else if (threadIdx.x == 32) {
      while (full) {}
      __threadfence_block();
      number = i;
      __threadfence_block();
      full = 1;
    }
  }
  if (threadIdx.x != 0) return;
  while (turn != gridDim.x - 1 - blockIdx.x) {}
  __threadfence();
  turn = gridDim.x - blockIdx.x;
}
int main() {
  backwards<<<6, 64>>>(10);
  int result, last;
  cudaMemcpyFromSymbol(&result, sum, 4);
  cudaMemcpyFromSymbol(&last, turn, 4);
  printf("%d %d\n", result, last);
})");
  CHECK(program.run().out == "270 6\n");
}

TEST_CASE("convlab-run: each race of a program is told, not only one") {
  const Program program(R"(__global__ void two(int* p) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  p[threadIdx.x] = s[63 - threadIdx.x];
  *(p + 64) = threadIdx.x;
}
int main() {
  int* p;
  cudaMalloc(&p, 1024);
  two<<<1, 64>>>(p);
  return cudaDeviceSynchronize();
})");
  const std::string report = program.run("", "--races ").out;
  CHECK(contains(report, "__syncthreads() belongs between the two lines"));
  CHECK(contains(report, "program.cu:3"));
  CHECK(contains(report, "program.cu:4"));
  CHECK(contains(report, "make the index different for every thread"));
  const std::string streams =
      Program(
          "int main() {\n  int* p;\n  cudaStream_t stream;\n  cudaMalloc(&p, 8);\n"
          "  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);\n"
          "  cudaMemset(p, 0, 8);\n  cudaMemsetAsync(p, 1, 4, stream);\n}")
          .run("", "--races ")
          .out;
  CHECK(contains(streams, "race of cudaMemset: two operations use byte 0 of global memory\n"));
  CHECK(contains(streams, "the two run in different streams: an event must make one wait"));
  CHECK(Program(
            "__global__ void right(int* p) { p[threadIdx.x] = 1; }\nint main() {\n  int* p;\n"
            "  cudaMalloc(&p, 128);\n  right<<<1, 32>>>(p);\n  return cudaDeviceSynchronize();\n}")
            .run("", "--races ")
            .out.empty());
}

#endif

TEST_CASE("convlab-run: kernels fuse a product and a sum, the host and -fmad=false do not") {
  const Program program(R"(#include <cstdio>
#include <cuda_fp16.h>
__host__ __device__ float f(float a, float b, float c) { return a * b + c; }
__global__ void k(float x, float c, half h, half t, float* o) { o[0] = f(x, x, c); o[1] = h * h + t; }
int main(int argc, char**) {
  const float e = argc * 0x1p-12F, x = 1 + e, c = -(1 + 2 * e);
  float* o;
  cudaMallocManaged(&o, 8);
  k<<<1, 1>>>(x, c, 1 + 0x1p-6F, -(1 + 0x1p-5F), o);
  cudaDeviceSynchronize();
  printf("%a %a %a\n", o[0], o[1], f(x, x, c));
})");
  const std::string fused = program.run().out;
  CHECK(contains(fused, " 0x1p-12 0x0p+0\n"));
  CHECK((contains(fused, "0x1p-24 ") || contains(fused, "0x0p+0 ")));  // by the processor
  CHECK(program.run("", "-fmad=false ").out == "0x0p+0 0x0p+0 0x0p+0\n");
}

TEST_CASE("convlab-run: a conversion without a cast tells a GPU's value and the host's") {
  if (CONVLAB_ADDRESS_SANITIZER) return;
  const Program program(R"(#include <cstdio>
#define SHIFT(x, n) ((x) << (n))
#if SHIFT(1, 1) == 2  // the preprocessor needs it as it is
#endif
template <class T> __device__ T to(float x) { return T(x); }
__global__ void k(float x, int n, int* o) { o[0] = x; o[1] = SHIFT(1, n); o[2] = to<int>(x); o[3] = 1 << n; }
int main(int argc, char**) {
  int* o;
  cudaMallocManaged(&o, 16);
  k<<<1, 1>>>(3e9F, 39 + argc, o);
  cudaDeviceSynchronize();
  printf("%d %d\n", o[2], o[3]);
})");
  const std::string report = program.run().out;
  CHECK(contains(report, "2147483647 0\n"));
  CHECK(contains(report, "3e+09 as a whole number is 2147483647 on a GPU and -2147483648 here"));
  CHECK(contains(report, "1 is shifted by 40 bits: on a GPU that leaves 0"));
}
