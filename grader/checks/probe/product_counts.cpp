#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "grader/checks/probe/common_rule.hpp"
#include "grader/checks/probe/fact_texts.hpp"
#include "grader/checks/probe/finders.hpp"

namespace convlab::grader::probe {

namespace {

std::vector<Label> labels_of(const ConvShape& s) {
  std::vector<Label> labels;
  for (std::int64_t o = 0; o < s.output_size(); ++o) {
    Label at = output_label(s, o);
    for (at.c = 0; at.c < s.in_channels; ++at.c) {
      for (at.p = 0; at.p < s.kernel; ++at.p) {
        for (at.q = 0; at.q < s.kernel; ++at.q) labels.push_back(at);
      }
    }
  }
  return labels;
}

}  // namespace

std::optional<Fact> find_counts(const std::vector<LabelledTerms>& all) {
  std::vector<ConvShape> shapes;
  std::vector<std::vector<Label>> labels;
  for (const LabelledTerms& terms : all) {
    shapes.push_back(terms.shape);
    labels.push_back(labels_of(terms.shape));
    for (const Labelled& each : terms.terms) {
      if (!is_right_product(terms.shape, each)) return std::nullopt;
    }
  }
  const auto rule_for = [&](const auto& is_marked, bool& any) {
    std::vector<std::vector<Feature>> features;
    std::vector<std::vector<bool>> marked;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const LabelledTerms& terms = all[i];
      std::vector<Label> kept;
      std::vector<bool> marks;
      for (const Label& at : labels[i]) {
        if (terms.unwritten[static_cast<std::size_t>(output_index(terms.shape, at))]) continue;
        kept.push_back(at);
        marks.push_back(is_marked(terms.factors[place_of(terms.shape, at)]));
        any = any || marks.back();
      }
      features.push_back(features_of(terms.shape, kept, true));
      marked.push_back(std::move(marks));
    }
    return any ? common_rule(features, marked) : std::string();
  };
  bool misses = false;
  bool scales = false;
  const std::string missing = rule_for([](double factor) { return factor == 0.0; }, misses);
  const std::string scaled =
      rule_for([](double factor) { return factor != 0.0 && factor != 1.0; }, scales);
  if (!misses && !scales) return std::nullopt;
  Fact fact{.id = "E-terms"};
  fact.measured = "Measured at " + shapes_text(shapes) + ": ";
  const LabelledTerms& first = all.front();
  const ConvShape& s = first.shape;
  std::optional<Label> example;
  std::size_t missed = 0;
  std::set<double> factors;
  for (const Label& at : labels.front()) {
    if (first.unwritten[static_cast<std::size_t>(output_index(s, at))]) continue;
    const double factor = first.factors[place_of(s, at)];
    if (factor != 1.0 && !example) example = at;
    missed += factor == 0.0 ? 1 : 0;
    if (factor != 0.0 && factor != 1.0) factors.insert(factor);
  }
  std::vector<std::string> causes;
  if (misses) {
    causes.push_back(missing.empty()
                         ? number(static_cast<std::int64_t>(missed)) + " of " +
                               number(static_cast<std::int64_t>(labels.front().size())) +
                               " products are missing"
                         : "the products with " + missing + " are missing");
  }
  if (scales) {
    const std::string times =
        factors.size() == 1 ? real(*factors.begin()) + " times" : "with another factor than 1";
    causes.push_back("the products " + (scaled.empty() ? std::string() : "with " + scaled + " ") +
                     "count " + times);
  }
  const std::string cause = joined(causes, "; ");
  fact.measured += cause + ". All others are right.";
  if (example) {
    fact.measured += "\nBy hand, at " + to_string(s) + ": output " + output_text(*example) +
                     (first.factors[place_of(s, *example)] == 0.0 ? " misses " : " counts ") +
                     weight_text(s, weight_index(s, *example)) + " times " +
                     pixel_text(s, input_index(s, *example)) +
                     (first.factors[place_of(s, *example)] == 0.0
                          ? "."
                          : " " + real(first.factors[place_of(s, *example)]) + " times.");
    fact.measured += window_picture(first, *example);
  }
  fact.cause = sentence(cause);
  if (misses && !scales) {
    if (missing == "c ≠ 0" || missing == "c ≥ 1") fact.id = "E-first-channel";
    if (missing == "c ≠ C - 1" || missing == "c < C - 1") fact.id = "E-last-channel";
    if (missing == "the number of the tap < C·K·K - 1" ||
        missing == "the number of the tap ≠ C·K·K - 1") {
      fact.id = "E-last-tap";
    }
    if (missing == "the number of the tap = C·K·K - 1") fact.id = "E-stored-early";
    static const std::set<std::string> edges = {
        "p = 0",     "q = 0",     "p < 1",          "q < 1",
        "p = K - 1", "q = K - 1", "p = 0 or q = 0", "p = K - 1 or q = K - 1"};
    if (edges.contains(missing)) fact.id = "E-filter-edge";
  }
  if (fact.id == "E-terms") {
    fact.next =
        "Look for the loop bound, the condition or the load that treats these products differently "
        "from the others.";
  }
  return fact;
}

}  // namespace convlab::grader::probe
