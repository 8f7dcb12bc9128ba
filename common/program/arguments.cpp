#include "common/program/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "common/base/error.hpp"

namespace convlab {

int parse_batch(const std::string& text) {
  int batch = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, batch);
  if (error != std::errc() || stop != end || batch < 1 || batch > kMaxBatch) {
    throw UsageError("The batch is a whole number from 1 to " + std::to_string(kMaxBatch) +
                     ", not '" + text + "'.");
  }
  return batch;
}

std::vector<int> parse_batches(const std::string& text) {
  std::vector<int> batches;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    batches.push_back(parse_batch(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return batches;
}

}  // namespace convlab
