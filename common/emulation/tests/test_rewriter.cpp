// The lexer and the rewrite alone. That the result compiles and runs is tested by
// test_launch_forms.cu.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/rewrite/rewriter.hpp"
#include "common/emulation/rewrite/source.hpp"
#include "common/emulation/tests/rewritten.hpp"

namespace {

using convlab::rewrite::Rewritten;
using convlab::rewrite::Source;
using convlab::rewrite::Token;
using convlab::rewrite::tokenize;
using convlab::testing::contains;
using convlab::testing::only_complaint;
using convlab::testing::rewritten;

/// Where a compiler sees the tokens of a text: line, column and the token.
std::set<std::tuple<std::size_t, std::size_t, std::string>> places(const std::string& text) {
  std::set<std::tuple<std::size_t, std::size_t, std::string>> result;
  std::size_t shift = 0;  // modulo 2^64
  const auto tokens = tokenize(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.is("#") && tokens[i + 1].is("line"))
      shift = std::stoul(std::string(tokens[i + 2].text)) - (token.line + 1);
    const std::size_t line_begin = text.rfind('\n', token.offset) + 1;
    result.emplace(token.line + shift, token.offset - line_begin, token.text);
  }
  return result;
}

/// Without the lines that bring the text behind them back into its column.
std::string without_anchors(std::string text) {
  const std::string mark = "\n#line ";
  for (auto begin = text.find(mark); begin != std::string::npos; begin = text.find(mark, begin)) {
    const auto line_end = text.find('\n', begin + 1);
    const auto end = std::min(text.find_first_not_of(" \t", line_end + 1), text.size());
    text.erase(begin, end - begin);
  }
  return text;
}

}  // namespace

TEST_CASE("tokens know their kind, place and line") {
  const std::string text =
      "int a = 1'000'000; // <<<\n#define X \\\n  f<<<1>>>()\nauto s = R\"x(a\n)\" )x\" 'c' "
      "::b->c;";
  const auto tokens = tokenize(text);
  CHECK(tokens[3].text == "1'000'000");
  CHECK(tokens[5].text == "#");
  CHECK(tokens[5].line == 2);
  CHECK(tokens[8].text == "f");
  CHECK(tokens[8].line == 3);
  CHECK(tokens[8].directive == tokens[5].directive);
  const auto raw = std::ranges::find_if(
      tokens, [](const Token& token) { return token.kind == Token::Kind::kString; });
  REQUIRE(raw != tokens.end());
  CHECK(raw->text == "R\"x(a\n)\" )x\"");
  CHECK(raw->directive == 0);
  CHECK((raw + 1)->kind == Token::Kind::kCharacter);
  CHECK((raw + 1)->line == 5);
  CHECK((raw + 2)->text == "::");
  CHECK((raw + 4)->text == "->");
}

TEST_CASE("unfinished comments, strings and brackets end with the file") {
  for (const char* text : {"/* no end", "\"no end", "R\"(no end", "f<<<1, 2>>>(", "(((", "}}}", "'",
                           "#define", "/", "__shared__", "__shared__ float x[", "<<<>>>()", "\\"})
    CHECK_NOTHROW(rewritten(text));
}

TEST_CASE("a compiler sees everything in its line and column") {
  const std::string text =
      "template <int N = 3> __global__ void t(int* p);\n__global__ void k(float* a, int n) {\n"
      "\t__shared__ float tile[4][5], *row; n = 3; extern __shared__\n char "
      "raw[];\n}\n"
      "__constant__ float mask[3]; int after_mask;\n"
      "void f(float* a, void (*pointer)(int)) {\n  if (a) k\n    <<<1,\n\t  2\n>>>\n(a,\n a[4]);\n"
      "  /* ü */ k<<<first, 2>>>(x, y); ns::t<4> <<<dim3(7), second>>>(z); t<<<5, 6>>>(q); "
      "last();\n"
      "  pointer<<<8, 9>>>(10); next();\n}\n";
  const Rewritten result = rewritten(text);
  CHECK(result.diagnostics.empty());
  CHECK_FALSE(contains(result.text, "<<<"));
  const auto seen = places(result.text);
  for (const auto& place : places(text)) {
    const std::string& token = std::get<2>(place);
    const bool goes = token == "<" || token == ">" || token == "extern" || token == "__shared__";
    INFO(token << " in line " << std::get<0>(place) << ", column " << std::get<1>(place) << " of\n"
               << result.text);
    CHECK((goes || seen.count(place) > 0));
  }
}

TEST_CASE("what may be a macro's argument gets no line of its own") {
  const std::string text =
      "void f() {\n  CHECK((k<<<1, 2>>>(a)));\n}\n#define RUN(k) k<<<1, 2>>>(a)\n";
  const Rewritten result = rewritten(text);
  CHECK_FALSE(contains(result.text, "<<<"));
  CHECK(std::ranges::count(result.text, '\n') == 4);
}

TEST_CASE("text without CUDA stays as it is") {
  const std::string text = "a << b; a<b<c>>d; operator<<<int>(x); // f<<<1>>>()\n\"f<<<1>>>()\"";
  CHECK(rewritten(text).text == text);
  CHECK_FALSE(rewritten(text).changed);
}

TEST_CASE("a macro may hold a configuration, but no other part of a launch") {
  const Rewritten result = rewritten(
      "#ifdef EDITOR\n#define CONFIG(b, t)\n#else\n#define CONFIG(b, t) <<<b, t>>>\n#endif\n"
      "#define ONE <<<1, 1>>>\n__global__ void k(int);\nvoid f() { k CONFIG(3, 4)(5); k ONE(6); }");
  CHECK(result.diagnostics.empty());
  CHECK(contains(result.text, "CONFIG(b, t)    b, t   \n"));
  const std::string launches = without_anchors(result.text);
  CHECK(contains(launches, "configuration(CONFIG(3, 4)))(5)"));
  CHECK(contains(launches, "configuration(ONE))(6)"));
  CHECK(contains(only_complaint("\n#define BEGIN <<<\n"),
                 "2: a macro cannot hold a part of a launch"));
  CHECK(contains(only_complaint("#define RUN k<<<1, 2\n"), "1: a macro cannot hold a part"));
}

TEST_CASE("the header of a library that needs a GPU gets a name that says so") {
  CHECK(rewritten("#include <cufft.h>\nint x;").text ==
        "#include <cufft.h needs a GPU and is not emulated: write a kernel in its place>\nint x;");
  CHECK(contains(rewritten("#  include <thrust/sort.h>\n").text, "use std::sort and its like"));
  CHECK(
      contains(rewritten("#include <curand_kernel.h>\n").text, "with std::mt19937 and copy them"));
  CHECK(contains(rewritten("#include <cuda_fp8.h>\n").text, "h is not emulated: compute in half"));
  for (const char* fine :
       {"#include <cuda_fp16.h>\n", "#include \"cub.h\"\n", "#include <cub.h>\n", "#include <cufft",
        "#include <cufft.h\n>", "#include <cublas_v2.h>\n", "#include <cudnn.h>\n"})
    CHECK_FALSE(rewritten(fine).changed);
}

TEST_CASE("inline PTX becomes calls, in its own line") {
  const std::string text =
      "__device__ void f(unsigned a) {\n  asm volatile(\n      \"bar.sync 0;\\n\"\n"
      "      \"prefetch.global.L2 [%0];\" ::\"l\"(p + 1) : \"memory\"); h(a);\n}\n"
      "void g() { asm(\"nop\"); }";
  const Rewritten result = rewritten(text);
  CHECK(result.diagnostics.empty());
  CHECK(contains(
      result.text,
      "do { auto&& convlab_0 = (p + 1); (void)convlab_0; "
      "::convlab::emulation::ptx::barrier<true>(0); "
      "::convlab::emulation::ptx::prefetch(::convlab::emulation::ptx::address(convlab_0, 0));"
      " } while (false)"));
  CHECK_FALSE(contains(without_anchors(result.text), "bar.sync"));
  CHECK(contains(result.text, "void g() { asm"));
  // What follows stays where it was.
  const auto before = places(text);
  const auto after = places(result.text);
  for (const auto& place : before)
    if (std::get<2>(place) == "h") CHECK(after.count(place) == 1);
}

TEST_CASE("unknown inline PTX becomes an error of the compiler in its own line") {
  const std::string text =
      "__device__ void f() {\n  asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: "
      "\"r\"(a));\n}";
  const Rewritten result = rewritten(text);
  CHECK(contains(
      result.text,
      "\n  static_assert(false, \"inline PTX: 'mbarrier.init.shared.b64' cannot run in device "
      "emulation (docs/emulation.md lists what can): "));
  CHECK(contains(rewritten("__device__ void f() { asm(CODE : \"=r\"(a)); }").text,
                 "static_assert(false, \"inline PTX: this statement cannot"));
  CHECK(contains(rewritten("#define F(a) asm(\"bar.sync 0;\")\n").text, "barrier<true>(0)"));
  const std::string lines = rewritten("#define F(a) asm( \\\n \"bar.sync 0;\" \\\n )\n").text;
  CHECK(contains(lines, "barrier<true>(0)"));
  CHECK(std::ranges::count(lines, '\\') == 2);
  CHECK_FALSE(contains(rewritten("__device__ void f() { asm volatile(\"\" ::: \"memory\"); }").text,
                       "static_assert"));
}

TEST_CASE("a kernel whose __global__ hides in a macro is one") {
  CHECK(contains(rewritten("#define KERNEL __global__ void\ntemplate <class T> KERNEL k(T* p) {}\n"
                           "void f(float* p) { k<<<1, 1>>>(p); }")
                     .text,
                 "::launch([=]"));
}

TEST_CASE("both branches of an #if may open the brace that closes behind it") {
  const std::string text =
      "__global__ void k(int n) {\n#ifdef A\n  for (;;) {\n#else\n  while (n) {\n#endif\n  }\n}\n"
      "#if B\nint f() {\n#else\nint f(int) {\n#endif\n  k<<<1, 1>>>(1);\n}\n"
      "#if C\nint g() { return 1; }\n#else\nint g() { return 2; }\n#endif\nint h;";
  const Rewritten result = rewritten(text);
  CHECK(result.diagnostics.empty());
  CHECK(contains(result.text, "::launch_function("));
  const Source source(text);
  CHECK(source.scope(source.size() - 1) == convlab::rewrite::Scope::kFile);
}

TEST_CASE("what stands before a directive is not the type of the name behind it") {
  CHECK(rewritten("__global__ void k(int* b, int n) {\n#if A\n  b[0] = 1;\n#endif\n  b[n] = 1;\n}")
            .diagnostics.empty());
  CHECK(contains(rewritten("__global__ void k(int* p) { S* s = new (p) S(*p); }").text,
                 "new (p) S(*p)"));
}

TEST_CASE("the qualifier of a variable may hide in a macro, or stand between directives") {
  const auto symbols = [](const std::string& text) {
    const std::string result = rewritten(text).text;
    std::size_t count = 0;
    for (auto at = result.find("DeviceSymbol "); at != std::string::npos;
         at = result.find("DeviceSymbol ", at + 1))
      ++count;
    return std::to_string(count) +
           result.substr(std::min(result.find("SymbolKind::"), result.size()), 20);
  };
  CHECK(symbols("#define M __managed__\nM __device__ int n;").starts_with("1SymbolKind::kManaged"));
  CHECK(symbols("#define C __constant__\nC int n;").starts_with("1SymbolKind::kConsta"));
  CHECK(symbols("#if A\n__constant__\n#endif\n#pragma omp declare target\nstatic float t[] = {1};")
            .starts_with("1SymbolKind::kConsta"));
  CHECK(symbols("#define D __device__\nD int f() { return 1; }\nD int g();").starts_with("0"));
}

TEST_CASE("shared variables of all shapes are declared") {
  const std::string text =
      "__global__ void k() {\n"
      "  __shared__ float a[4][N + 1], b, *c, (*g)[8];\n"
      "  volatile __shared__ std::pair<int, float> d[3];\n"
      "  __shared__ alignas(16) struct { int x; } e;\n"
      "  extern __shared__ __align__(8) unsigned char f[];\n}\n__device__ __shared__ int h[3];";
  const Rewritten result = rewritten(text);
  CHECK(result.diagnostics.empty());
  const std::string declared = without_anchors(result.text);
  CHECK(contains(declared,
                 "typedef    float convlab_type_a[4][N + 1], convlab_type_b, *convlab_type_c, "
                 "(*convlab_type_g )[8];"));
  CHECK(contains(declared, "volatile typedef    std::pair<int, float> convlab_type_d[3];"));
  CHECK(contains(declared, "struct { int x; } convlab_type_e;"));
  CHECK(contains(declared, "__device__ typedef    int convlab_type_h[3];"));
  CHECK(contains(
      declared,
      "shared_variable<convlab_type_e>(convlab_slot_e, [] { struct alignas(16) Aligned {}; return "
      "alignof(Aligned); }())"));
  CHECK(contains(declared,
                 "convlab_type_f&f = ::convlab::emulation::dynamic_shared<convlab_type_f, "
                 "alignof(convlab_align_"));
}

TEST_CASE("functions that use a shared variable of the file declare it") {
  const auto uses = [](const std::string& function) {
    return contains(rewritten("extern __shared__ float s[];\n#define AT(i) s[i]\n" + function).text,
                    "{ auto& s = ::convlab::emulation::dynamic_shared<convlab_type_s>();");
  };
  CHECK(uses("__global__ void k(float* p) { p[0] = s[1]; }"));
  CHECK(uses("template <int N> struct S { __device__ float f() { return AT(N); } };"));
  CHECK_FALSE(uses("__global__ void k(float* p) { p[0] = 1; }"));
  CHECK_FALSE(uses("__global__ void k(float* s) { s[0] = 1; }"));
  CHECK_FALSE(uses("__global__ void k(P* p) { p->s[0] = p->t.s; }"));
  CHECK_FALSE(uses("__global__ void k() { float s[2]; s[0] = 1; }"));
}

TEST_CASE("a ; missing after a shared variable is left to the compiler") {
  const std::string text = "__global__ void k() {\n  __shared__ float a[4]\n  int i = 3;\n}";
  CHECK(rewritten(text).text == text);
}

TEST_CASE("a launch names its function where that is one") {
  const std::string kernels =
      "__global__ void plain(int);\n__global__ void plain(int n) { }\n"
      "__global__ void two(int*);\n__global__ void two(float*);\n__global__ void optional(int, int "
      "n = 3);\n"
      "template <int A, int B = 7> __global__ void values(int);\n"
      "template <int A, typename T = float> __global__ void types(T);\n";
  const auto form = [&](const std::string& launch) {
    const std::string text = rewritten(kernels + "void f() { " + launch + "; }").text;
    return contains(text, "::launch_function(")  ? "function"
           : contains(text, "::launch_pointer(") ? "pointer"
           : contains(text, "::launch(")         ? "template"
                                                 : "none";
  };
  CHECK(form("plain<<<1, 1>>>(3)") == std::string("function"));
  CHECK(form("two<<<1, 1>>>(p)") == std::string("template"));
  CHECK(form("optional<<<1, 1>>>(3)") == std::string("template"));
  CHECK(form("values<3><<<1, 1>>>(3)") == std::string("function"));
  CHECK(form("values<3, 4><<<1, 1>>>(3)") == std::string("function"));
  CHECK(form("types<3><<<1, 1>>>(3)") == std::string("template"));
  CHECK(form("types<3, int><<<1, 1>>>(3)") == std::string("function"));
  CHECK(form("unknown<<<1, 1>>>(3)") == std::string("pointer"));
  CHECK(form("plain << <1, 1 >> >(3)") == std::string("function"));
  CHECK(contains(rewritten(kernels + "void f() { plain<<<1, 1>>>(3); }").text,
                 "static_cast<void (*)(int)>("));
  CHECK_FALSE(contains(
      rewritten(kernels + "void f(void (*plain)(float)) { plain<<<1, 1>>>(3); }").text, "(*)"));
  CHECK(form("plain<<<1, 1\n#ifdef SHARED\n, 4\n#endif\n>>>(3)") == std::string("function"));
}

TEST_CASE("headers are copied only where something changes") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "convlab_test_rewriter";
  fs::remove_all(folder);
  fs::create_directories(folder / "in");
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / "in" / name) << text;
  };
  write("main.cu",
        "#include \"outer.hpp\"\n#include \"plain.hpp\"\n#include <vector>\nint x;\n"
        "__global__ void local(double* p) {\n#include \"local.hpp\"\n*p = limit; }\n");
  write("local.hpp", "double limit = 3;\n");
  write("outer.hpp", "#include \"kernels.cuh\"\n");
  write("kernels.cuh", "#pragma once\n__global__ void k() { __shared__ int s; s = 1; }\n");
  write("plain.hpp", "int plain();\n");
  const auto result = convlab::rewrite::rewrite_project(
      {folder / "in" / "main.cu", folder / "out" / "main.cu.cpp", {folder}, {}});
  CHECK(result.errors.empty());
  CHECK(result.inputs.size() == 5);
  std::ifstream file(folder / "out" / "main.cu.cpp");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CHECK(contains(text, "#line 1 \"" + (folder / "in" / "main.cu").string() + "\"\n#include \"/"));
  CHECK(contains(text,
                 "_outer.hpp\"\n#include \"" + (folder / "in" / "plain.hpp").string() + "\"\n"));
  CHECK(contains(text, "#include <vector>\nint x;\n"));
  fs::remove_all(folder);
}

TEST_CASE("a sentence that holds for many lines is told once") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "convlab_test_repeated";
  fs::create_directories(folder);
  std::ofstream file(folder / "main.cu");
  file << "void tell(int);\n__global__ void k() {\n";
  for (int i = 0; i < 2; ++i) file << "tell(" << i << ");\n";
  file << "rand();\n}\n";
  file.close();
  const auto result =
      convlab::rewrite::rewrite_project({folder / "main.cu", folder / "out.cpp", {folder}, {}});
  REQUIRE(result.errors.size() == 2);
  CHECK(contains(result.errors[0], "main.cu:3: error: calling the __host__ function tell"));
  CHECK(contains(result.errors[1], "main.cu:5: error: calling rand"));
  fs::remove_all(folder);
}

TEST_CASE("a source that accesses 16 bytes at once is known") {
  const auto wide = [](const std::string& text) {
    return convlab::rewrite::has_wide_accesses(convlab::rewrite::Source(text));
  };
  CHECK(wide("float4* p;"));
  CHECK(wide("auto v = make_double2(1, 2);"));
  CHECK(wide("struct alignas(16) S { float x; };"));
  CHECK(wide("struct __attribute__((aligned(16))) S { float x; };"));
  CHECK(wide("using namespace nvcuda::wmma;"));
  CHECK(wide("auto both = *reinterpret_cast<const float2*>(row);"));
  CHECK_FALSE(wide("float2 p; // float4\nconst char* s = \"int4\"; __half2 h; float3 v;"));
}

TEST_CASE("names of includes, quoted and in angle brackets") {
  const std::string text = "#include \"a.cuh\"\n#include <b/c.cuh>\n# include <vector>\n";
  const convlab::rewrite::Source source(text);
  CHECK(convlab::rewrite::included_names(source) ==
        std::vector<std::string>{"a.cuh", "b/c.cuh", "vector"});
  CHECK(contains(convlab::rewrite::rewrite(text, source, {}, {{"b/c.cuh", "/copy.cuh"}}).text,
                 "#include \"/copy.cuh\""));
}

TEST_CASE("casts and shifts of device code get a GPU's values, and nothing else does") {
  const auto dense = [](std::string text) {
    std::erase(text, ' ');
    return text;
  };
  const auto check = [&](const std::string& code, const std::string& expected) {
    const std::string text = "__device__ void f() { " + code + " }";
    CHECK(dense(without_anchors(rewritten(text).text)) ==
          dense("__device__ void f() { " + expected + " }"));
  };
  const auto cast = [](const std::string& type) {
    return "(" + type + ")(::convlab::emulation::CastThrough<" + type + ">)";
  };
  const std::string first = " ::convlab::emulation::Initial<int>{} = ";
  const std::string mark = " ::convlab::emulation::DeviceShift{}";
  check("y = (int)x * 2;", "y = " + cast("int") + "x * 2;");
  check("y = -(unsigned char)-a[i].b;", "y = -" + cast("unsigned char") + "-a[i].b;");
  check("g((int)(a + b), 1);", "g(" + cast("int") + "(a + b), 1);");
  check("y = (unsigned)(int)x;", "y = " + cast("unsigned") + cast("int") + "x;");
  check("y = static_cast<long long>(x);", "y = " + cast("long long") + "(x);");
  check("y = static_cast<T>(x);", "y = " + cast("T") + "(x);");
  check("y = (T)x;", "y = " + cast("T") + "x;");
  check("y = 1 + int(x);", "y = 1 + " + cast("int") + "(x);");
  check("y = (int)g<2>(x);", "y = " + cast("int") + "g<2>(x);");
  check("const int i = x, j = 3, k = f(a, b);",
        "const int i =" + first + "x, j = 3, k =" + first + "f(a, b);");
  check("int i = x; y = z;", "int i =" + first + "x; y = z;");  // y may be a float
  check("y = 1u << n;", "y = 1u <<" + mark + " << n;");
  check("y >>= n;", "y >>=" + mark + " = n;");
  check("y = x << n ^ x >> n;", "y = x <<" + mark + " << n ^ x >>" + mark + " >> n;");
  check("while (i < n >> k) ++i;", "while (i < n >>" + mark + " >> k) ++i;");
  for (const char* same : {"int (*g)(int) = h;", "y = sizeof(int);", "int(y);", "if (a) b = 1;",
                           "y = x >> 5;", "V<V<int>> v{};", "y = (float)x;", "p = (int*)q;",
                           "y = (int){3};", "auto l = [](int) { };", "y = x == (a << 2);"}) {
    INFO(same);
    check(same, same);
  }
  const std::string host = "void f() { y = (int)x << n; }";
  CHECK(rewritten(host).text == host);
}

TEST_CASE("casts of members' first values get a GPU's values, too") {
  const std::string cast = "(int)(::convlab::emulation::CastThrough<int>)";
  const auto check = [&](const std::string& code) {
    INFO(code);
    const std::string text = rewritten(code).text;
    std::size_t casts = 0;
    for (auto at = text.find(cast); at != std::string::npos; at = text.find(cast, at + 1)) ++casts;
    CHECK(casts == 2);
  };
  check("struct A { int v, w; __device__ A(float x) : v((int)x), w(int(x)) {} };");
  check("struct A { int v; __device__ A(float x) : v{static_cast<int>(x)} { w = (int)x; } };");
  check("struct A { float x; int v = static_cast<int>(x), w = (int)x; };");
  check("__device__ void f(float x) { int a[] = {int(x), 1, int(x)}; }");
  for (const std::string same : {"struct A { int v; A(float x) : v((int)x) {} };",
                                 "struct A { void f(int); bool operator()(int) const; };",
                                 "struct A { using F = void (*)(int); enum { kOne = 1 }; };"})
    CHECK(rewritten(same).text == same);
}

TEST_CASE("what macros write of device code is rewritten as if it stood there") {
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(contains(rewritten(text).text, part));
  };
  const std::string cast = "(int)(::convlab::emulation::CastThrough<int>)";
  const std::string mark = "DeviceShift{}";
  has("#define ON_BOTH __host__ __device__\nON_BOTH int f(float x) { return (int)x; }", cast);
  has("#define D __device__\n#define F D inline\nF int f(float x) { return (int)x; }", cast);
  has("#define CUT(x) (int)x\n__device__ int f(float x) { return CUT(x); }", cast);
  has("#define KERNEL(name, ...) __global__ void name(int* p) { __VA_ARGS__ }\n"
      "KERNEL(k, { *p = 1 << *p; })",
      mark);
  has("#define KERNEL(name) __global__ void name(float x, int* p) { *p = (int)x; }\nKERNEL(k)",
      cast);
  has("#define KERNEL(name) __global__ void name(int* p)\nKERNEL(k) { *p = 1 << *p; }", mark);
  for (const char* same :
       {"#define CUT(x) (int)x\nint f(float x) { return CUT(x); }",
        "#define BIT(n) (1 << (n))\n#if BIT(2) > 3\n#endif\n"
        "__device__ int f() { return BIT(3); }",
        "__device__ void f() {\n#define TEN(i) sum += i;\nTEN(0) TEN(1) }",
        "#define ON_BOTH __host__ __device__\nint main() { return (int)x << n; }"}) {
    INFO(same);
    CHECK(rewritten(same).text == same);
  }
}
