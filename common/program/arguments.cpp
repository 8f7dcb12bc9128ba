#include "common/program/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"

namespace convlab {

std::vector<int> parse_numbers(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream parts(text + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    int& number = numbers.emplace_back(-1);
    const char* const end = part.data() + part.size();
    if (std::from_chars(part.data(), end, number).ptr != end || number < 0) return {};
  }
  return numbers;
}

std::vector<int> parse_batches(const std::string& text) {
  std::vector<int> batches = parse_numbers(text);
  const auto is_wrong = [](int batch) { return batch < 1 || batch > kMaxBatch; };
  if (batches.empty() || std::ranges::any_of(batches, is_wrong)) {
    throw UsageError("The batch is a whole number from 1 to " + std::to_string(kMaxBatch) +
                     ", not '" + text + "'.");
  }
  return batches;
}

ConvShape parse_case(const std::string& text) {
  std::vector<int> sizes = parse_numbers(text);
  constexpr std::size_t kWithStride = 7;
  constexpr int kMost = 99'999;
  if (sizes.size() + 1 == kWithStride) sizes.push_back(1);
  if (sizes.size() != kWithStride || *std::ranges::max_element(sizes) > kMost) {
    throw UsageError(
        "--case takes B,M,C,H,W,K or B,M,C,H,W,K,S, for example 2,3,1,9,8,3; this is " +
        printable_line(text) + ".");
  }
  const ConvShape shape{sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]};
  try {
    validate(shape);
  } catch (const ShapeError& error) {
    throw UsageError(std::string("--case ") + text + ": " + error.what());
  }
  return shape;
}

}  // namespace convlab
