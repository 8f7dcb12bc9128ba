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

TEST_CASE("ptx: arithmetic beyond the known is refused") {
  for (const std::string name : {"add.cc.u32", "fma.rz.f32", "bfe.u32", "mul.wide.u32", "sad.u32",
                                 "not.pred", "setp.lt.and.s32", "cvt.rzi.s32.f32", "sqrt.rn.b32"})
    CHECK(refusal({name + " %0, %0, %0;", {{"+r", "a"}}}) == "'" + name + "'");
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
