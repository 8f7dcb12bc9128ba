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

}  // namespace

TEST_CASE("ptx: arithmetic beyond the known is refused") {
  for (const std::string name : {"add.cc.u32", "fma.rz.f32", "bfe.u32", "mul.wide.u32", "lop3.b32",
                                 "not.pred", "setp.lt.and.s32", "cvt.rzi.s32.f32", "sqrt.rn.b32"})
    CHECK(refusal({name + " %0, %0, %0;", {{"+r", "a"}}}) == "'" + name + "'");
}

TEST_CASE("ptx: what is not known is refused by name") {
  CHECK(refusal({"mbarrier.init.shared.b64 [%0], 1;", {{"r", "a"}}}) ==
        "'mbarrier.init.shared.b64'");
  CHECK(refusal({"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0}, {%0}, {%0}, {%0};",
                 {{"+r", "a"}}}) == "'mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32'");
  CHECK(refusal({"ld.global.f32 %0, [%1];", {{"=f", "a"}, {"l", "p"}}}) == "'ld.global.f32'");
  CHECK(refusal({"@p bar.sync 0;", {}}) == "'p' as an operand");
  CHECK(refusal({"bar.sync 1, 64;", {}}) == "'bar.sync' with 2 operands");
  CHECK(refusal({"cvt.rna.tf32.f32 %0, %7;", {{"=r", "a"}}}) ==
        "%7, for which there is no operand");
  CHECK(refusal({"cvt.rna.tf32.f32 %1, %0;", {{"=r", "a"}, {"f", "b"}}}) ==
        "a result in %1, which is an input");
  CHECK(refusal({"cvt.rna.tf32.f32 %0, %1;", {{"=h", "a"}, {"f", "b"}}}) ==
        "an operand with the constraint \"=h\"");
  CHECK(refusal({"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1}, [%2];",
                 {{"=r", "a"}, {"=r", "b"}, {"r", "s"}}}) == "2 registers in the place of 4");
  CHECK(refusal({"prefetch.L1 [%0 + x];", {{"l", "p"}}}) == "the offset 'x'");
}
