#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/probe/terms.hpp"
#include "grader/checks/result/finding.hpp"

namespace convlab::grader::probe {

/// The products of a program, each with the output and tap that it belongs to.
struct Labelled {
  Label at{};
  Term term{};
};

/// Terms of one shape that could all be labelled.
struct LabelledTerms {
  ConvShape shape{};
  std::vector<Labelled> terms{};
  /// Of each pair of output and tap, the sum of factors; 0: missing.
  std::vector<double> factors{};
  std::vector<bool> unwritten{};
};

std::size_t place_of(const ConvShape& s, const Label& at);  ///< in LabelledTerms::factors

/// All terms by their weight (or pixel), at each shape; nothing if one belongs to no tap of its
/// output.
std::vector<LabelledTerms> labelled(const std::vector<Terms>& terms, bool by_weight);

bool is_right_product(const ConvShape& s, const Labelled& one);

/// What a traced program is watched for to find its lines.
WrongProduct watched(const ConvShape& s, const Labelled& one);

// A product in words; the window of one output in one channel, as it should be and as it is.
std::string product_by_hand(const ConvShape& s, const Labelled& one);
std::string window_picture(const LabelledTerms& terms, const Label& of);

}  // namespace convlab::grader::probe
