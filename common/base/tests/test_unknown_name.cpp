#include "common/base/tests/support/catch.hpp"
#include "common/base/unknown_name.hpp"

using convlab::name_meant;

TEST_CASE("unknown name: the one that was meant") {
  const std::vector<std::string> stages = {"im2col-gemm", "fused-gemm", "half", "half2", "fft"};
  CHECK(name_meant("fused_gemm", stages) == "fused-gemm");
  CHECK(name_meant("FFT", stages) == "fft");
  CHECK(name_meant("imcol-gemm", stages) == "im2col-gemm");
  CHECK(name_meant("im2col", stages) == "im2col-gemm");
  CHECK(name_meant("fused-gmem", stages) == "fused-gemm");
  CHECK(name_meant("hal", {"half", "half2"}).empty());  // either
  CHECK(name_meant("", stages).empty());
  CHECK(name_meant("m1_cpu_baseline", {"m1", "m2"}) == "m1");
  CHECK(name_meant("m7", {"m1", "m2"}).empty());  // one letter of two is another name
}
