// From the text of an asm statement to C++. That the calls do the same as a GPU is tested by
// tests/features/inline_ptx.cu.

#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/ptx/translate.hpp"

using convlab::ptx::AsmStatement;
using convlab::ptx::translate;
using convlab::testing::contains;

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
  for (const std::string name :
       {"add.cc.f32", "madc.hi.s32", "fma.rz.f16", "bfe.b32", "mul.wide.u16", "prmt.b32.f4e",
        "setp.lt.and.s32", "cvt.rni.s32.s32", "sqrt.rn.b32", "atom.global.acquire.add.u32",
        "atom.global.add.s64", "red.shared.cas.b32.b32"})
    CHECK(refusal({name + " %0, %0, %0;", {{"+r", "a"}}}) == "'" + name + "'");
}

TEST_CASE("ptx: functions, carries and modes of rounding") {
  CHECK(calls({"bfe.u32 %0, %1, 4, 8;", {{"=r", "a"}, {"r", "b"}}}) ==
        "compute([](unsigned a, unsigned b, unsigned c) -> unsigned { return extracted_field(a, b, "
        "c); })(list(write<4>(convlab_0)), list(read<4>(convlab_1)), list(read<4>(4)), "
        "list(read<4>(8)));");
  const auto carried = [](const std::string& name) {
    const std::string code = calls({name + " %0, %0, %0;", {{"+l", "a"}}});
    return code.substr(0, code.find("; })"));
  };
  const std::string begin =
      "compute([](unsigned long long a, unsigned long long b) -> unsigned "
      "long long { return ";
  CHECK(carried("add.cc.u64") == begin + "sum_with_carry(a, b, 0U, true)");
  CHECK(carried("addc.s64") == begin + "sum_with_carry(a, b, carry, false)");
  CHECK(carried("subc.cc.u64") == begin + "difference_with_borrow(a, b, carry, true)");
  CHECK(contains(translate({"fma.rm.f32 %0, %0, %0, %0;", {{"+f", "a"}}}).code,
                 "::__fmaf_rd(a, b, c)"));
  CHECK(
      contains(translate({"mul.rn.ftz.f32 %0, %0, %0;", {{"+f", "a"}}}).code, "::__fmul_rn(a, b)"));
  CHECK(contains(translate({"cvt.rpi.s64.f64 %0, %1;", {{"=l", "a"}, {"d", "b"}}}).code,
                 "::__double2ll_ru(a)"));
}

TEST_CASE("ptx: atomic operations with and without a result") {
  CHECK(
      calls({"atom.cta.shared.cas.b32 %0, [%1], %2, 7;", {{"=r", "a"}, {"r", "p"}, {"r", "b"}}}) ==
      "exchange<true, unsigned>([](unsigned* at, unsigned a, unsigned b) { return "
      "::atomicCAS_block(at, a, b); })(list(write<4>(convlab_0)), address(convlab_1, 0), "
      "list(read<4>(convlab_2)), list(read<4>(7)));");
  CHECK(calls({"red.global.add.f32 [%0], %1;", {{"l", "p"}, {"f", "a"}}}) ==
        "update<false, float>([](float* at, float a) { return ::atomicAdd(at, a); "
        "})(address(convlab_0, 0), list(read<4>(convlab_1)));");
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
