#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/probe/explanation.hpp"

namespace convlab::grader::probe {

/// The output element and the tap that a product belongs to.
struct Label {
  int b = 0, m = 0, h = 0, w = 0, c = 0, p = 0, q = 0;
};

// Flat indices of the right loops.
std::int64_t input_index(const ConvShape& s, const Label& at);
std::int64_t weight_index(const ConvShape& s, const Label& at);
std::int64_t output_index(const ConvShape& s, const Label& at);

/// The output element at a flat index; its tap is the first one.
Label output_label(const ConvShape& s, std::int64_t index);

/// A product that the program adds to an output element.
struct Term {
  std::int64_t output = 0;
  std::int64_t pixel = 0;   ///< flat index, outside the array too
  std::int64_t weight = 0;  ///< the same
  double factor = 1.0;
};

/// What a program multiplies at one shape.
struct Terms {
  ConvShape shape{};
  std::vector<Term> terms{};
  std::int64_t unclear = 0;       ///< sums whose products were not found
  std::vector<bool> unwritten{};  ///< by output element
};

/// One weight is 1 and the others 0, each pixel has its own number: shows the pixels that meet this
/// weight. One run a weight, two if the program computes with few bits.
/// @param by_weight  else with one pixel of each image, where a weight meets several pixels; takes
///                   for granted that no image uses pixels of another one
/// @return nothing if the program fails
std::optional<Terms> measure(Program& program, const ConvShape& shape, bool by_weight);

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

/// Every product of the right loops, output by output.
std::vector<Label> all_products(const ConvShape& s);

/// All terms by their weight (or pixel); nothing if one belongs to no tap of its output.
std::vector<LabelledTerms> labelled(const std::vector<Terms>& terms, bool by_weight);

bool is_right_product(const ConvShape& s, const Labelled& one);

/// What a traced program is watched for to find its lines.
WrongProduct watched(const ConvShape& s, const Labelled& one);

/// The window of one output in one channel, as it should be and as it is.
std::string window_picture(const LabelledTerms& terms, const Label& of);

/// Adds a wrong product: in words, in its window, and to watch for.
void show_example(Explanation& fact, const LabelledTerms& terms, const Labelled& one);
/// The first wrong one.
void show_wrong_product(Explanation& fact, const LabelledTerms& terms);

}  // namespace convlab::grader::probe
