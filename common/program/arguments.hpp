#pragma once

#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab {

/// Number of test images of Fashion-MNIST, and the largest batch.
inline constexpr int kMaxBatch = 10'000;

/// "100,1000": batches separated by commas. @throws UsageError in one sentence unless they are
/// whole numbers from 1 to kMaxBatch
std::vector<int> parse_batches(const std::string& text);

/// "2,0,1": numbers from 0 on, separated by commas. Empty for any other text.
std::vector<int> parse_numbers(const std::string& text);

/// --case: "B,M,C,H,W,K" or "B,M,C,H,W,K,S", as a finding prints it.
/// @throws UsageError for other text
ConvShape parse_case(const std::string& text);

}  // namespace convlab
