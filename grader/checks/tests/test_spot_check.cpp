#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "reference/oracle/oracle.hpp"

using namespace convlab;
using grader::FreshNumbers;

TEST_CASE("fresh numbers: the same for a seed, others for another, spread between -1 and 1") {
  constexpr int kCount = 20'000;
  std::vector<float> numbers(kCount);
  FreshNumbers(7).fill(numbers.data(), kCount);
  double sum = 0.0;
  double squares = 0.0;
  int same = 0;
  for (int i = 0; i < kCount; ++i) {
    CHECK((numbers[i] == FreshNumbers(7).at(i) && numbers[i] >= -1.0f && numbers[i] < 1.0f));
    same += numbers[i] == FreshNumbers(8).at(i) ? 1 : 0;
    same += numbers[i] == FreshNumbers(std::uint64_t{7} << 32).at(i) ? 1 : 0;
    sum += numbers[i];
    squares += numbers[i] * numbers[i];
  }
  CHECK(same < 20);
  CHECK(std::fabs(sum / kCount) < 0.02);
  CHECK(std::fabs(squares / kCount - 1.0 / 3.0) < 0.01);
}

TEST_CASE("spot check: finds wrong elements, and agrees with the oracle about right ones") {
  const ConvShape shape{3, 4, 2, 11, 13, 3, 2};  // B M C H W K S
  const FreshNumbers numbers(3);
  std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
  std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
  numbers.fill(input.data(), shape.input_size());
  FreshNumbers(4).fill(weights.data(), shape.weights_size());
  const auto sums = oracle::exact_sums(shape, input.data(), weights.data());
  std::vector<float> output(sums.size());
  std::ranges::copy(sums, output.begin());
  const auto tolerance = oracle::Tolerance::of(Precision::kFp32, shape);
  std::mt19937_64 engine(1);
  const auto is_right = [&](int count) {
    return grader::spot_check(shape, numbers, weights.data(), output.data(), tolerance, count,
                              engine);
  };
  CHECK(is_right(1000));
  SECTION("the last element") {
    output.back() += 0.001f;
    CHECK_FALSE(is_right(0));
  }
  SECTION("one in the middle that is no number") {
    output[output.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(is_right(20 * static_cast<int>(output.size())));
  }
}
