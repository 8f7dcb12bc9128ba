#include "grader/checks/fresh_numbers.hpp"

#include <random>

namespace convlab::grader {

FreshNumbers FreshNumbers::draw() {
  static std::random_device device;
  return FreshNumbers(std::uint64_t{device()} << 32 | device());
}

void FreshNumbers::fill(float* numbers, std::int64_t count) const {
  constexpr std::int64_t kWorthThreads = 1 << 20;
#pragma omp parallel for simd schedule(static) if (count > kWorthThreads)
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = at(i);
}

}  // namespace convlab::grader
