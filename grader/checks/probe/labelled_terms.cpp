#include "grader/checks/probe/labelled_terms.hpp"

#include <set>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"

namespace convlab::grader::probe {

std::size_t place_of(const ConvShape& s, const Label& at) {
  const int tap = (at.c * s.kernel + at.p) * s.kernel + at.q;
  return static_cast<std::size_t>(output_index(s, at) * s.taps() + tap);
}

namespace {

// All terms by their weight (or pixel); nothing if one belongs to no tap of its output.
std::optional<LabelledTerms> labelled(const Terms& measured, bool by_weight) {
  if (measured.unclear > 0) return std::nullopt;
  const ConvShape& s = measured.shape;
  LabelledTerms result{.shape = s, .unwritten = measured.unwritten};
  result.factors.assign(static_cast<std::size_t>(s.output_size() * s.taps()), 0.0);
  for (const Term& term : measured.terms) {
    const auto at = by_weight ? label_by_weight(s, term.output, term.weight)
                              : label_by_pixel(s, term.output, term.pixel);
    if (!at) return std::nullopt;
    result.terms.push_back({*at, term});
    result.factors[place_of(s, *at)] += term.factor;
  }
  return result;
}

}  // namespace

std::vector<LabelledTerms> labelled(const std::vector<Terms>& terms, bool by_weight) {
  std::vector<LabelledTerms> all;
  for (const Terms& each : terms) {
    auto one = labelled(each, by_weight);
    if (!one) return {};
    all.push_back(std::move(*one));
  }
  return all;
}

std::string product_by_hand(const ConvShape& s, const Labelled& one) {
  return "\nBy hand, at " + to_string(s) + ": output " + output_text(one.at) + " uses " +
         weight_text(s, one.term.weight) + " times " + pixel_text(s, one.term.pixel) +
         "; right is " + weight_text(s, weight_index(s, one.at)) + " times " +
         pixel_text(s, input_index(s, one.at)) + ".";
}

WrongProduct watched(const ConvShape& s, const Labelled& one) {
  WrongProduct product{.shape = s,
                       .output = output_index(s, one.at),
                       .pixel = input_index(s, one.at),
                       .weight = weight_index(s, one.at),
                       .factor = one.term.factor};
  if (one.term.pixel != product.pixel) product.other_pixel = one.term.pixel;
  if (one.term.weight != product.weight) product.other_weight = one.term.weight;
  return product;
}

bool is_right_product(const ConvShape& s, const Labelled& one) {
  return one.term.pixel == input_index(s, one.at) && one.term.weight == weight_index(s, one.at);
}

std::string window_picture(const LabelledTerms& terms, const Label& of) {
  const ConvShape& s = terms.shape;
  const std::int64_t plane = std::int64_t{of.b} * s.in_channels + of.c;
  std::set<std::int64_t> right;
  std::set<std::int64_t> found;
  for (int p = 0; p < s.kernel; ++p) {
    for (int q = 0; q < s.kernel; ++q) {
      right.insert(input_index(s, {of.b, of.m, of.h, of.w, of.c, p, q}));
    }
  }
  for (const Labelled& each : terms.terms) {
    if (each.term.output == output_index(s, of)) found.insert(each.term.pixel);
  }
  const std::string drawn = picture(s, plane, right, found);
  return drawn.empty()
             ? drawn
             : "Pixels of channel " + number(of.c) + " for output " + output_text(of) + ":" + drawn;
}

}  // namespace convlab::grader::probe
