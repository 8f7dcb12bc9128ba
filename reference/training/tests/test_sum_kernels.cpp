#include <cmath>
#include <vector>

#include "common/data/random.hpp"
#include "common/simd/isa.hpp"
#include "common/testing/catch.hpp"
#include "reference/training/sum_kernels.hpp"

using convlab::Isa;
using convlab::Random;

namespace {

struct Kernels {
  const char* name;
  decltype(&convlab::training::baseline::weighted_sums) weighted_sums;
  decltype(&convlab::training::baseline::dot_products) dot_products;
};

// Every copy that this processor can run.
std::vector<Kernels> runnable_kernels() {
  namespace training = convlab::training;
  std::vector<Kernels> kernels = {
      {"baseline", training::baseline::weighted_sums, training::baseline::dot_products}};
#if defined(__x86_64__)
  if (convlab::best_isa() >= Isa::kAvx2) {
    kernels.push_back({"avx2", training::avx2::weighted_sums, training::avx2::dot_products});
  }
  if (convlab::best_isa() >= Isa::kAvx512) {
    kernels.push_back({"avx512", training::avx512::weighted_sums, training::avx512::dot_products});
  }
#endif
  return kernels;
}

// Small whole numbers: every sum is exact, so results must be equal, not close.
std::vector<float> whole_numbers(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.between(-8, 8));
  return values;
}

}  // namespace

TEST_CASE("sum kernels: any rows, terms and counts, on every instruction set") {
  constexpr std::int64_t kPitch = 260;
  constexpr int kMaxTerms = 20;
  const std::vector<float> base = whole_numbers(5000, 1);
  const std::vector<float> left = whole_numbers(20 * kPitch, 2);
  const std::vector<float> coefficients = whole_numbers(kMaxTerms * 20, 3);
  std::vector<std::int64_t> offsets;
  Random random(4);
  for (int t = 0; t < kMaxTerms; ++t) offsets.push_back(random.below(4000));

  for (const Kernels& kernels : runnable_kernels()) {
    INFO(kernels.name);
    for (int rows = 1; rows <= 18; ++rows) {
      for (int terms : {1, 2, 3, 4, 5, 6, 7, 11, 20}) {
        for (std::int64_t count : {0, 1, 7, 15, 16, 17, 31, 48, 49, 65, 95, 111, 250}) {
          std::vector<float> sums(static_cast<std::size_t>(rows * kPitch), 99.0F);
          kernels.weighted_sums(coefficients.data(), 20, base.data(), offsets.data(), terms, rows,
                                sums.data(), kPitch, count);
          std::vector<float> dots(static_cast<std::size_t>(rows * kMaxTerms), 5.0F);
          kernels.dot_products(left.data(), kPitch, base.data(), offsets.data(), terms, rows,
                               dots.data(), kMaxTerms, count);
          bool right = true;
          for (int r = 0; r < rows; ++r) {
            for (std::int64_t n = 0; n < kPitch; ++n) {
              float expected = n < count ? 0.0F : 99.0F;  // nothing past the end is touched
              for (int t = 0; n < count && t < terms; ++t) {
                expected +=
                    coefficients[static_cast<std::size_t>(t * 20 + r)] *
                    base[static_cast<std::size_t>(offsets[static_cast<std::size_t>(t)] + n)];
              }
              right = right && sums[static_cast<std::size_t>(r * kPitch + n)] == expected;
            }
            for (int t = 0; t < kMaxTerms; ++t) {
              float expected = 5.0F;
              for (std::int64_t n = 0; t < terms && n < count; ++n) {
                expected +=
                    left[static_cast<std::size_t>(r * kPitch + n)] *
                    base[static_cast<std::size_t>(offsets[static_cast<std::size_t>(t)] + n)];
              }
              right = right && dots[static_cast<std::size_t>(r * kMaxTerms + t)] == expected;
            }
          }
          CAPTURE(rows, terms, count);
          REQUIRE(right);
        }
      }
    }
  }
}
