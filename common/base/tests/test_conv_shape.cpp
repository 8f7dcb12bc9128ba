#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"

using convlab::ConvShape;
using convlab::ShapeError;

TEST_CASE("conv shape: sizes at 10 000 images, and with a stride that leaves a rest") {
  const ConvShape op1{
      .batch = 10000, .out_channels = 4, .in_channels = 1, .height = 86, .width = 86, .kernel = 7};
  CHECK(op1.out_height() == 80);
  CHECK(op1.out_width() == 80);
  CHECK(op1.input_size() == 73'960'000);
  CHECK(op1.output_size() == 256'000'000);
  CHECK(op1.multiply_adds() == 12'544'000'000);
  CHECK_NOTHROW(convlab::validate(op1));
  CHECK(ConvShape{.height = 301, .kernel = 3, .stride = 2}.out_height() == 150);
  CHECK(ConvShape{.width = 302, .kernel = 3, .stride = 2}.out_width() == 150);
}

TEST_CASE("conv shape: impossible sizes are refused in one sentence") {
  CHECK_THROWS_AS(convlab::validate({.batch = 0}), ShapeError);
  CHECK_THROWS_AS(convlab::validate({.stride = -1}), ShapeError);
  CHECK_THROWS_AS(
      convlab::validate({.batch = 1 << 30, .in_channels = 1 << 10, .height = 9, .width = 9}),
      ShapeError);
  CHECK_THROWS_WITH(convlab::validate({.height = 4, .width = 8, .kernel = 5}),
                    "A kernel of 5 does not fit into 4×8 pixels (B=1 M=1 C=1 H=4 W=8 K=5 S=1).");
}
