// From the text of an asm statement to C++. That the calls do the same as a GPU is tested by
// tests/features/inline_ptx.cu.

#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/ptx/translate.hpp"

using convlab::ptx::AsmStatement;
using convlab::ptx::translate;

namespace {

std::string refusal(const AsmStatement& statement) {
  return translate(statement).refusal;
}

/// Without the operands' declarations and the names' common beginning.
std::string calls(const AsmStatement& statement) {
  std::string code = translate(statement).code;
  const auto last = code.rfind("(void)convlab_");
  const auto begin = last == std::string::npos ? code.find('{') : code.find(';', last);
  code = code.substr(begin + 2);
  const std::string space = "::convlab::emulation::ptx::";
  for (auto at = code.find(space); at != std::string::npos; at = code.find(space)) {
    code.erase(at, space.size());
  }
  return code.substr(0, code.rfind(" } while"));
}

}  // namespace

TEST_CASE("ptx: every operand is evaluated once, in order") {
  const auto code =
      translate({"cvt.rn.f16x2.f32 %0, %1, %1;", {{"=r", "d[i++]"}, {"f", "a, b"}}}).code;
  CHECK(code ==
        "do { auto&& convlab_0 = (d[i++]); (void)convlab_0; auto&& convlab_1 = (a, b); "
        "(void)convlab_1; ::convlab::emulation::ptx::convert_to_half2("
        "::convlab::emulation::ptx::list(::convlab::emulation::ptx::write<4>(convlab_0)), "
        "::convlab::emulation::ptx::list(::convlab::emulation::ptx::read<4>(convlab_1)), "
        "::convlab::emulation::ptx::list(::convlab::emulation::ptx::read<4>(convlab_1))); "
        "} while (false)");
}

TEST_CASE("ptx: registers in braces, addresses with offsets, numbers") {
  CHECK(calls({"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2 + 64];",
               {{"=r", "a"}, {"=r", "b"}, {"r", "s"}}}) ==
        "load_matrices<true>(list(write<4>(convlab_0), write<4>(convlab_1)), "
        "address(convlab_2, 64));");
  CHECK(calls({"cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n\tcp.async.commit_group;",
               {{"r", "s"}, {"l", "g"}}}) ==
        "copy<true>(address(convlab_0, 0), address(convlab_1, 0), 16); copy_commit();");
  CHECK(calls({"cp.async.ca.shared.global [%0], [%1], %2, %3;",
               {{"r", "s"}, {"l", "g"}, {"n", "8"}, {"r", "left"}}}) ==
        "copy<false>(address(convlab_0, 0), address(convlab_1, 0), convlab_2, convlab_3);");
  CHECK(calls({"cp.async.wait_group 1; // all but one", {}}) == "copy_wait(1);");
  CHECK(calls({"{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }",
               {{"=r", "d"}, {"l", "p"}}}) ==
        "unsigned long long convlab_register_a = 0; to_shared(list(write<8>(convlab_register_a)), "
        "list(read<8>(convlab_1))); compute([](unsigned long long a) { return "
        "static_cast<unsigned>(a); })(list(write<4>(convlab_0)), "
        "list(read<8>(convlab_register_a)));");
}

TEST_CASE("ptx: cache hints are advice") {
  for (const std::string name :
       {"ld.global.f32", "ld.global.nc.f32", "ld.global.nc.L1::no_allocate.f32", "ld.global.cg.b32",
        "ld.global.cs.L2::128B.u32", "ld.global.L1::evict_last.s32"}) {
    CHECK(calls({name + " %0, [%1];", {{"=f", "a"}, {"l", "p"}}}) ==
          "load<false>(list(write<4>(convlab_0)), address(convlab_1, 0));");
  }
  CHECK(calls({"ld.global.v2.f64 {%0,%1}, [%2];", {{"=d", "a"}, {"=d", "b"}, {"l", "p"}}}) ==
        "load<false>(list(write<8>(convlab_0), write<8>(convlab_1)), address(convlab_2, 0));");
  CHECK(refusal({"ld.global.nc.v4.f32 %0, [%1];", {{"=f", "a"}, {"l", "p"}}}) ==
        "1 registers in the place of 4");
  for (const std::string name : {"st.global.cs.f32", "st.global.wt.b32"}) {
    CHECK(calls({name + " [%1], %0;", {{"f", "a"}, {"l", "p"}}}) ==
          "store<false>(address(convlab_1, 0), list(read<4>(convlab_0)));");
  }
}

TEST_CASE("ptx: arithmetic becomes an expression") {
  CHECK(calls({"mad.lo.s32 %0, %1, %2, 0x10;", {{"=r", "a"}, {"r", "b"}, {"r", "c"}}}) ==
        "compute([](unsigned a, unsigned b, unsigned c) -> unsigned { return a * b + c; "
        "})(list(write<4>(convlab_0)), "
        "list(read<4>(convlab_1)), list(read<4>(convlab_2)), list(read<4>(0x10)));");
  CHECK(calls({"ex2.approx.ftz.f32 %0, %1;", {{"=f", "a"}, {"f", "b"}}}) ==
        "compute([](float a) -> float { return ::exp2f(a); })(list(write<4>(convlab_0)), "
        "list(read<4>(convlab_1)));");
  CHECK(calls({"ld.shared.u32 %0, [%1];", {{"=r", "a"}, {"r", "s"}}}) ==
        "load<true>(list(write<4>(convlab_0)), address(convlab_1, 0));");
  CHECK(calls({"{ .reg .pred %p1; setp.ne.f32 %p1, %1, %1; @!%p1 bar.sync 1, 64; }",
               {{"=r", "a"}, {"f", "b"}}}) ==
        "unsigned convlab_register_p1 = 0; compute([](float a, float b) -> unsigned { return a < b "
        "|| a > b; })(list(write<4>(convlab_register_p1)), list(read<4>(convlab_1)), "
        "list(read<4>(convlab_1))); if (convlab_register_p1 == 0) { barrier<true>(1, 64); };");
  for (const std::string name : {"add.cc.u32", "fma.rz.f32", "bfe.u32", "mul.wide.u32", "lop3.b32",
                                 "not.pred", "setp.lt.and.s32", "cvt.rzi.s32.f32", "sqrt.rn.b32"})
    CHECK(refusal({name + " %0, %0, %0;", {{"+r", "a"}}}) == "'" + name + "'");
}

TEST_CASE("ptx: all products and matrix loads") {
  for (const std::string name : {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                                 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
                                 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                                 "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                                 "ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16",
                                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
                                 "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16"}) {
    CHECK(refusal({name + " ;", {}}) == "'" + name + "' with 0 operands");
  }
}

TEST_CASE("ptx: what is not known is refused by name") {
  CHECK(refusal({"mbarrier.init.shared.b64 [%0], 1;", {{"r", "a"}}}) ==
        "'mbarrier.init.shared.b64'");
  CHECK(refusal({"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0}, {%0}, {%0}, {%0};",
                 {{"+r", "a"}}}) == "'mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32'");
  CHECK(refusal({"ld.global.v4.f64 {%0,%0,%0,%0}, [%1];", {{"=d", "a"}, {"l", "p"}}}) ==
        "'ld.global.v4.f64'");
  CHECK(refusal({"@p bar.sync 0;", {}}) == "'p' as an operand");
  CHECK(refusal({"bar.sync 0, 64, 1;", {}}) == "'bar.sync' with 3 operands");
  CHECK(refusal({"cvt.rna.tf32.f32 %0, %7;", {{"=r", "a"}}}) ==
        "%7, for which there is no operand");
  CHECK(refusal({"cvt.rna.tf32.f32 %1, %0;", {{"=r", "a"}, {"f", "b"}}}) ==
        "a result in %1, which is an input");
  CHECK(refusal({"cvt.rna.tf32.f32 %0, %1;", {{"=h", "a"}, {"f", "b"}}}) ==
        "an operand with the constraint \"=h\"");
  CHECK(refusal({"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1}, [%2];",
                 {{"=r", "a"}, {"=r", "b"}, {"r", "s"}}}) == "2 registers in the place of 4");
  CHECK(refusal({"ld.global.f32 %0, [%1 + x];", {{"=f", "a"}, {"l", "p"}}}) == "the offset 'x'");
}
