#include "grader/checks/element_cases.hpp"

#include <cmath>
#include <random>

#include "grader/checks/probe/explanation.hpp"

namespace convlab::grader {

const std::vector<ElementCase>& element_cases() {
  // B, M, C, H, W, K, S
  static const std::vector<ElementCase> cases = {
      {"one number", {1, 1, 1, 1, 1, 1, 1}, true},
      {"kernel 1", {1, 1, 1, 5, 5, 1, 1}, true},
      {"kernel 3", {1, 1, 1, 6, 6, 3, 1}, true},
      {"a single output", {1, 1, 1, 7, 7, 7, 1}, true},
      {"not square", {1, 1, 1, 9, 6, 3, 1}, true},
      {"several maps", {1, 5, 1, 8, 8, 3, 1}, true},
      {"several channels", {1, 1, 4, 8, 8, 3, 1}, true},
      {"several images", {4, 1, 1, 8, 8, 3, 1}, true},
      {"all together", {3, 5, 4, 9, 11, 3, 1}, true},
      {"stride 2", {2, 3, 2, 11, 14, 3, 2}, true},
      {"stride 3", {2, 3, 2, 13, 13, 5, 3}, true},
      {"stride larger than kernel", {2, 2, 2, 17, 12, 2, 4}, true},
      {"kernel 1, random", {2, 3, 4, 12, 10, 1, 1}, false},
      {"kernel 3, random", {2, 6, 3, 18, 20, 3, 1}, false},
      {"kernel 5, random", {3, 7, 2, 21, 19, 5, 1}, false},
      {"kernel 7, random", {2, 4, 5, 24, 23, 7, 1}, false},
      {"output 15", {2, 3, 2, 17, 17, 3, 1}, false},
      {"output 16", {2, 4, 2, 18, 18, 3, 1}, false},
      {"output 17", {2, 5, 2, 19, 19, 3, 1}, false},
      {"output 31 by 33", {1, 9, 3, 37, 39, 7, 1}, false},
      {"output 64 by 65", {1, 41, 1, 68, 69, 5, 1}, false},
      {"course case 1", {1, 3, 3, 224, 224, 3, 1}, false},
      {"course case 2", {2, 3, 3, 301, 301, 3, 2}, false},
      {"course case 3", {3, 3, 3, 196, 196, 3, 3}, false},
      {"course case 4", {4, 3, 3, 239, 239, 3, 4}, false},
      {"first layer of fa23", {3, 4, 1, 86, 86, 7, 1}, false},
      {"second layer of fa23", {3, 16, 4, 40, 40, 7, 1}, false},
      {"130 images", {130, 2, 1, 9, 9, 3, 1}, true},
      // Images times maps pass 65 535, the limit of grid.y and grid.z, as in a batch of 10 000.
      {"4097 images of 16 maps", {4097, 16, 1, 1, 1, 1, 1}, true},
      // More columns than a byte counts, in the input and in the output.
      {"300 columns", {1, 2, 1, 4, 300, 3, 1}, true},
  };
  return cases;
}

// The largest of the whole numbers. Halves hold those up to 2048: so inputs are exact in every
// class, and so are sums in halves, of which one beyond 2048 is eleven standard deviations away.
static int largest_of(const ElementCase& test) {
  constexpr double kLargestInHalf = 2048.0;
  constexpr double kDeviations = 11.0;
  const double products = 1.0 * test.shape.in_channels * test.shape.kernel * test.shape.kernel;
  int largest = test.largest;
  // The mean square of 1 to n is (n + 1)(2n + 1)/6; that of a product is its square.
  while (largest > 1 &&
         kDeviations * std::sqrt(products) * (largest + 1) * (2 * largest + 1) / 6.0 >
             kLargestInHalf) {
    --largest;
  }
  return largest;
}

void fill_random(const ElementCase& test, std::uint64_t seed, const Arrays& arrays) {
  // The engine's numbers are fixed by the standard; its distributions are not, so there are none.
  std::mt19937_64 engine(seed);
  const auto fill = [&](float* values, std::int64_t count) {
    const int largest = largest_of(test);
    constexpr int kBits = 24;
    for (std::int64_t i = 0; i < count; ++i) {
      if (test.exact) {
        const int whole = static_cast<int>(engine() % static_cast<unsigned>(2 * largest)) - largest;
        values[i] = static_cast<float>(whole < 0 ? whole : whole + 1);  // a zero would hide much
      } else {
        const auto bits = static_cast<std::int32_t>(engine() >> (64 - kBits));
        values[i] = static_cast<float>(bits - (1 << (kBits - 1))) / (1 << (kBits - 1));
      }
    }
  };
  fill(arrays.input, test.shape.input_size());
  fill(arrays.weights, test.shape.weights_size());
  if (test.one_row) probe::keep_last_rows(test.shape, arrays.weights);
}

}  // namespace convlab::grader
