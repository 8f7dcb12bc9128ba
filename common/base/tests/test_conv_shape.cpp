#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"

using convlab::ConvShape;
using convlab::ShapeError;

TEST_CASE("conv shape: impossible sizes are refused in one sentence") {
  CHECK_THROWS_AS(convlab::validate({.batch = 0}), ShapeError);
  CHECK_THROWS_AS(convlab::validate({.stride = -1}), ShapeError);
  CHECK_THROWS_AS(
      convlab::validate({.batch = 1 << 30, .in_channels = 1 << 10, .height = 9, .width = 9}),
      ShapeError);
  CHECK_THROWS_WITH(convlab::validate({.height = 4, .width = 8, .kernel = 5}),
                    "A kernel of 5 does not fit into 4×8 pixels (B=1 M=1 C=1 H=4 W=8 K=5 S=1).");
}
