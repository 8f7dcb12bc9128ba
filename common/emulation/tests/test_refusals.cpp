// What the rewrite refuses, and what it must not.

#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/tests/rewritten.hpp"

using convlab::testing::contains;
using convlab::testing::only_complaint;
using convlab::testing::rewritten;

TEST_CASE("what cannot be emulated is refused with its line") {
  CHECK(contains(only_complaint("\n\n__global__ void a();\n__global__ void b() { a<<<1, 1>>>(); }"),
                 "4: a kernel launched from device code"));
  CHECK(contains(only_complaint("struct S {\n__shared__ float s[3]; };"),
                 "2: a __shared__ variable"));
  for (const char* member :
       {"struct S {\nstatic __device__ float s[3]; };", "struct S;\n__device__ int S::s = 3;",
        "template <class T> struct S {\n  static inline __device__ T s{}; };"})
    CHECK(contains(only_complaint(member),
                   "2: a __device__ variable cannot be a member of a class: declare it outside"));
  for (const char* fine :
       {"struct S { __device__ int f() { return 3; } };",
        "struct S { __device__ [[nodiscard]] int f() const; __device__ S() = default; };",
        "struct S { __host__ __device__ operator float() const; int x = 3; };"})
    CHECK(rewritten(fine).diagnostics.empty());
  CHECK(contains(only_complaint("\n\ntexture<float, 1> t;"), "3: textures and surfaces"));
  CHECK(contains(only_complaint("float f() { return tex2D<float>(t, x, y); }"), "1: textures"));
  CHECK(contains(only_complaint("int main() { cuInit(0); }"), "1: CUDA's driver API"));
  CHECK(contains(only_complaint("int main() { cudaMallocArray(&p, &c, 4); }"), "1: arrays of tex"));
  CHECK(contains(only_complaint("int main() { cudaLaunchKernelEx(&c, k); }"),
                 "1: cudaLaunchKernelEx cannot be emulated"));
  CHECK(contains(only_complaint("__global__ void __cluster_dims__(2) k() {}"), "1: clusters"));
  CHECK(contains(only_complaint("__global__ void k() { cp_async_bulk_shared_to_global(); }"),
                 "1: bulk copies"));
  CHECK(contains(only_complaint("texture<float> t;\n__global__ void k(float* p) { f(t, p); }"),
                 "1: textures"));
  CHECK(rewritten("void tex2D(int);\nvoid f() { tex2D(3); }").diagnostics.empty());
  CHECK(contains(only_complaint("void f() {\n  k<<<1, 2;\n}"), "2: the launch has no >>>"));
  CHECK(
      contains(only_complaint("__global__ void k() { __shared__ int x = 3; }"), "1: a __shared__"));
  CHECK(contains(only_complaint("__global__ void k() { __shared__ int x[3]{}; }"),
                 "1: a __shared__"));
}

TEST_CASE("a kernel called as a function is refused, another function of its name is not") {
  const std::string kernel = "__global__ void k(int* p) { *p = 1; }\n";
  CHECK(contains(only_complaint(kernel + "void f() { k(nullptr); }"),
                 "2: a kernel called without a configuration: write k<<<blocks, threads>>>"));
  CHECK(contains(only_complaint(kernel + "void f(bool b) {\n  if (b) {} else\n  k(p + g(1));\n}"),
                 "4: "));
  CHECK(contains(only_complaint(kernel + "__device__ void f() { k(p); }"),
                 "2: calling the kernel k from the __device__ function f is not allowed"));
  for (const char* fine :
       {"void f() { k<<<1, 1>>>(nullptr); }", "void k(int p) {}\nvoid f() { k(3); }",
        "struct S { void k(int); void f() { k(3); } };", "void f(S& s) { s.k(3); S::k(3); }",
        "void f() { int k(3); use(k); }", "#define RUN k(p);",
        "void f() { void (*k)(int*) = &other; k(p); }",
        "void f(std::function<void(int*)> k) { k(p); }"})
    CHECK(rewritten(kernel + fine).diagnostics.empty());
}

// Without the limit some of these take hours.
TEST_CASE("a hostile text of a megabyte is rewritten, or refused in one sentence") {
  const auto many = [](const std::string& part) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    return text;
  };
  const std::string kernel = "__global__ void k(int n) {";
  for (const std::string& text :
       {many("/*"), many("<<<"), many("\""), many("\\"), many("\\\n"), many("#define "), many("f("),
        many("{"), many("a "), many("__global__ "), many("__constant__ int a;"),
        kernel + many("k<<<1,"), kernel + many("k<<<1, 2>>>(a);"), kernel + many("int b[n];"),
        kernel + many("__shared__ int s;"), "void f();\n" + kernel + many("f();"),
        "#define A " + many("A ") + "\nA", "#define A B B B B B B B B\n#define B " + many("A ")}) {
    INFO(text.substr(0, 50));
    std::string result;
    try {
      result = rewritten(text).text;
    } catch (const convlab::rewrite::TooManySteps& error) {
      result = error.what();
    }
    CHECK_FALSE(result.empty());
  }
}

TEST_CASE("kernels in classes and shared variables of the host are refused") {
  CHECK(contains(only_complaint("\n__global__ int k(int* p) { return *p; }"),
                 "2: a kernel must return void"));
  CHECK(contains(only_complaint("struct S {\n  static __global__ void k(int* p) { *p = 1; }\n};"),
                 "2: a kernel cannot be a member"));
  CHECK(contains(only_complaint("class C { public: template <int N> __global__ void k(); };"),
                 "1: a kernel cannot be a member"));
  CHECK(rewritten("struct S { int x; friend __global__ void k(S s); };").diagnostics.empty());
  CHECK(contains(only_complaint("int main() {\n  __shared__ float s[3];\n}"),
                 "2: a __shared__ variable in the __host__ function main"));
  for (const char* fine :
       {"#define KERNEL __global__ void\nKERNEL k() { __shared__ int s; s = 1; }",
        "struct S { __device__ void f() { __shared__ int s; s = 1; } };"}) {
    INFO(fine);
    CHECK(rewritten(fine).diagnostics.empty());
  }
}

TEST_CASE(
    "CUDA's runtime is not called by kernels, whether a GPU has the function for them or not") {
  for (const char* call : {"cudaGraphSetConditional(h, 0)", "cudaMalloc(&p, 4)",
                           "cudaGraphLaunch(g, s)", "cudaMemcpy(p, q, 4, d)"}) {
    const std::string text = only_complaint("__global__ void k() { " + std::string(call) + "; }");
    CHECK(contains(text, "is refused: only the host can call CUDA's runtime here"));
  }
  CHECK(rewritten("__global__ void k() { cudaGridDependencySynchronize(); }").diagnostics.empty());
  CHECK(contains(only_complaint("__global__ void k() { fopen(p, q); }"),
                 "is a function of the host"));
}

TEST_CASE("a function of the host called by a kernel is refused, and the other way round") {
  const std::string host = "float pad(float x) { return x; }\n";
  CHECK(only_complaint(host + "__global__ void k(float* p) {\n  p[0] = 2 * pad(p[1]);\n}") ==
        "3: calling the __host__ function pad from the __global__ function k is not allowed: write "
        "__device__ before pad, or __host__ __device__ if the host calls it too");
  CHECK(
      contains(only_complaint("template <class T>\nstatic T pad(T x);\n"
                              "template <int N> __device__ void f() { int x = N + pad<int>(3); }"),
               "3: calling the __host__ function pad from the __device__ function f"));
  CHECK(contains(only_complaint("namespace a {\nfloat pad(float x);\nnamespace {\n"
                                "__global__ void k(float* p) { p[0] = pad(1); }\n}\n}"),
                 "4: calling the __host__ function pad"));
  CHECK(only_complaint(
            "__device__ int index(int i) { return i; }\nint main() { return index(1); }") ==
        "2: calling the __device__ function index from the __host__ function main is not allowed: "
        "write __host__ __device__ before index, or call it in a kernel");
  CHECK(contains(only_complaint("__global__ void k(float* p) { cudaMemcpy(p, q, 4, d); }"),
                 "1: calling cudaMemcpy from the __global__ function k is refused"));
  CHECK(contains(only_complaint("__global__ void k(int* p) { *p = rand() % 10; }"),
                 "1: calling rand"));
  CHECK(contains(only_complaint("__global__ void k() {\n  std::cout << 1;\n}"),
                 "2: std::cout in the __global__ function k: only the host has it"));
}

TEST_CASE("what a kernel cannot have of the host is refused") {
  const std::string kernel = "__global__ void k(float* p) { ";
  CHECK(only_complaint("float scale[3];\n" + kernel + "p[0] = scale[1]; }") ==
        "2: the variable scale of the host in the __global__ function k: hand it over as an "
        "argument, or make it __constant__, __device__ or constexpr");
  CHECK(contains(only_complaint("const float w[2] = {1, 2};\n" + kernel + "p[0] = w[1]; }"),
                 "2: the variable w of the host"));
  CHECK(contains(
      only_complaint("#include <cstdio>\nconst int w[] = {1};\n" + kernel + "p[0] = w[0]; }"),
      "3: the variable w of the host"));
  CHECK(rewritten("#if A\n__constant__\n#endif\nfloat w[2];\n" + kernel + "p[0] = w[1]; }")
            .diagnostics.empty());
  CHECK(contains(only_complaint("static int n = 3;\n__device__ int f() { return n; }"),
                 "2: the variable n of the host in the __device__ function f"));
  CHECK(contains(only_complaint(kernel + "std::vector<float> v; }"),
                 "1: std::vector in the __global__"));
  CHECK(contains(only_complaint(kernel + "if (p[0] > 1) throw 1; }"),
                 "1: exceptions in the __global__"));
  for (const std::string array : {"__shared__ float s[n];", "float s[2 * n];"})
    CHECK(contains(only_complaint("__global__ void k(const int n) { " + array + " }"),
                   "1: the size of the array s is n, which is known only at run time"));
  CHECK(contains(only_complaint("void k(int* p) {}\nvoid f() { k<<<1, 1>>>(nullptr); }"),
                 "2: k is launched as a kernel but is none: write __global__ before it"));
  for (const std::string& fine : std::vector<std::string>{
           "const int n = 3;\n" + kernel + "p[n] = 1; }",
           kernel + "int i = p[0]; if (i < 3 && p[1] > p[i]) p[i] = 1; }",
           "constexpr float w[2] = {1, 2};\n" + kernel + "p[0] = w[1]; }",
           "__constant__ float w[2];\n" + kernel + "p[0] = w[1]; }",
           "__device__ static int n = 1;\n" + kernel + "p[n] = 1; }",
           "extern __constant__ float w[2];\n" + kernel + "p[0] = w[1]; }",
           "enum Size { small = 1, large = 2 };\n" + kernel + "p[0] = small + large; }",
           "float w[2];\n" + kernel + "float w[1] = {2}; p[0] = w[0] + s.w + sizeof(w); }",
           "int n;\n__global__ void k(int n) { int x = n; }", "int n;\nvoid f() { n = 1; }",
           "template <int n> __global__ void k() { const int m = 2; float s[n * m]; s[m] = s[n]; }",
           "__global__ void k(S** s, int n) { delete s[n]; }",
           "DEVICE_ARRAY float w[2];\n__global__ void k() { w[0] = 1; }"}) {
    INFO(fine);
    CHECK(rewritten(fine).diagnostics.empty());
  }
}

TEST_CASE("a call that may be allowed is not refused") {
  const std::string host = "float pad(float x) { return x; }\n";
  for (const char* fine :
       {// Shadowed by a parameter, a variable, a member or a lambda.
        "template <class F> __global__ void k(F pad) { pad(1); }",
        "__global__ void k(float (*pad)(float)) { pad(1); }",
        "__global__ void k() { Pad pad(3); pad(1); }",
        "__global__ void k() { auto pad = f; pad(1); }",
        "__global__ void k(S s, S* t) { s.pad(1); t->pad(1); S::pad(1); }",
        "struct S { float pad(float); __device__ float f() { return pad(1); } };",
        // Other declarations of the name.
        "__device__ int pad(int x);\n__global__ void k() { pad(1); }",
        "struct pad { int x; };\n__global__ void k() { pad(1); }",
        "#define pad(x) (x)\n__global__ void k() { pad(1); }",
        "namespace a { __device__ float pad(float); __global__ void k() { pad(1); } }",
        // Where nvcc only warns, or sees nothing.
        "__host__ __device__ float f() { return pad(1); }",
        "__global__ void k() {\n#ifndef __CUDA_ARCH__\n  pad(1);\n#endif\n}",
        "__global__ void k() { decltype(pad(1)) x = sizeof(pad(1)); }",
        "#define K __global__ void k() { pad(1); }",
        // Device code inside of a host function.
        "void f() { run([=] __device__(int i) { return __ldg(p + i); }); pad(1); }"})
    CHECK(rewritten(host + fine).diagnostics.empty());
  for (const char* fine :
       {"constexpr float pad(float x) { return x; }\n__global__ void k() { pad(1); }",
        "#define BOTH __host__ __device__\nBOTH float pad(float x);\n__global__ void k() { pad(1); "
        "}",
        "SOME_API float pad(float x);\n__global__ void k() { pad(1); }",
        "#ifdef __CUDACC__\n__device__\n#endif\nfloat pad(float);\n__global__ void k() { pad(1); }",
        "auto pad = [](float x) { return x; };\n__global__ void k() { pad(1); }",
        "float max(float a, float b, float c);\n__global__ void k() { max(1, 2); }",
        "__global__ void k() { printf(\"x\"); assert(true); free(malloc(3)); }",
        "__device__ int f();\nvoid g() { auto l = [] MACRO (int) { return f(); }; }",
        "__device__ int f();\nvoid g() { run(LAMBDA(int i) { return f(); }); }",
        "using namespace std;\n__global__ void fill(int* a, int* b, int c);\n"
        "void g() { fill(v.begin(), v.end(), 0); }"}) {
    INFO(fine);
    CHECK(rewritten(fine).diagnostics.empty());
  }
}
