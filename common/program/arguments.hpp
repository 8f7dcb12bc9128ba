#pragma once

#include <string>
#include <vector>

namespace convlab {

/// Number of test images of Fashion-MNIST, and the largest batch.
inline constexpr int kMaxBatch = 10'000;

/// A batch as a user types it. @throws UsageError in one sentence unless it is a whole number from
/// 1 to kMaxBatch.
int parse_batch(const std::string& text);

/// "100,1000": batches separated by commas. @throws UsageError as parse_batch
std::vector<int> parse_batches(const std::string& text);

}  // namespace convlab
