#include "common/program/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"

namespace convlab {

namespace {

// Between its commas.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// -1 for what is no whole number.
int number_of(const std::string& text) {
  int number = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? number : -1;
}

}  // namespace

int parse_batch(const std::string& text) {
  const int batch = number_of(text);
  if (batch < 1 || batch > kMaxBatch) {
    throw UsageError("The batch is a whole number from 1 to " + std::to_string(kMaxBatch) +
                     ", not '" + text + "'.");
  }
  return batch;
}

std::vector<int> parse_batches(const std::string& text) {
  std::vector<int> batches;
  for (const std::string& part : parts_of(text)) batches.push_back(parse_batch(part));
  return batches;
}

std::vector<int> parse_numbers(const std::string& text) {
  std::vector<int> numbers;
  for (const std::string& part : parts_of(text)) {
    numbers.push_back(number_of(part));
    if (numbers.back() < 0) return {};
  }
  return numbers;
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
