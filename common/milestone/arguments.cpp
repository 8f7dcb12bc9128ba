#include "common/milestone/arguments.hpp"

#include <charconv>

#include "common/error/error.hpp"

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

}  // namespace convlab
