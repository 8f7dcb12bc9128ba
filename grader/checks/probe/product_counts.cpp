#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"
#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/predicate.hpp"

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
  const auto rule_of = [&](const auto& is_marked, bool& any, std::size_t count) {
    std::vector<std::vector<Feature>> features;
    std::vector<std::vector<bool>> marked;
    for (std::size_t i = 0; i < count; ++i) {
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
      if (count < all.size()) {
        std::erase_if(features.back(), [](const Feature& each) {
          return !each.name.starts_with("the number of the") && !each.name.starts_with("(h·");
        });
      }
      marked.push_back(std::move(marks));
    }
    return any ? common_rule(features, marked) : std::string();
  };
  // If it has another number at each shape, that of the first one. A rule of one variable would be
  // the same at all.
  const auto rule_for = [&](const auto& is_marked, bool& any) {
    std::string rule = rule_of(is_marked, any, all.size());
    if (!any || !rule.empty() || all.size() == 1) return rule;
    bool some = false;
    rule = rule_of(is_marked, some, 1);
    return rule.empty() ? rule : rule + " (at " + to_string(shapes.front()) + ")";
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
  std::size_t often = 0;
  std::set<double> factors;
  for (const Label& at : labels.front()) {
    if (first.unwritten[static_cast<std::size_t>(output_index(s, at))]) continue;
    const double factor = first.factors[place_of(s, at)];
    if (factor != 1.0 && !example) example = at;
    missed += factor == 0.0 ? 1 : 0;
    if (factor == 0.0 || factor == 1.0) continue;
    factors.insert(factor);
    ++often;
  }
  // Which ones, or how many.
  const auto some = [&](const std::string& rule, std::size_t count) {
    const std::size_t whole = labels.front().size();
    if (count == whole) return std::string("all products");
    return rule.empty() ? std::to_string(count) + " of " + std::to_string(whole) + " products"
                        : "the products with " + rule;
  };
  std::vector<std::string> causes;
  if (misses) causes.push_back(some(missing, missed) + " are missing");
  if (scales) {
    causes.push_back(some(scaled, often) + " count " +
                     (factors.size() == 1 ? real(*factors.begin()) + " times"
                                          : std::string("with another factor than 1")));
  }
  const std::string cause = joined(causes, "; ");
  fact.measured +=
      cause + (missed + often == labels.front().size() ? "." : ". All others are right.");
  if (example) {
    fact.measured += "\nBy hand, at " + to_string(s) + ": output " + output_text(*example) +
                     (first.factors[place_of(s, *example)] == 0.0 ? " misses " : " counts ") +
                     weight_text(s, weight_index(s, *example)) + " times " +
                     pixel_text(s, input_index(s, *example)) +
                     (first.factors[place_of(s, *example)] == 0.0
                          ? "."
                          : " " + real(first.factors[place_of(s, *example)]) + " times.");
    fact.picture = window_picture(first, *example);
    fact.product = watched(s, {*example,
                               {.pixel = input_index(s, *example),
                                .weight = weight_index(s, *example),
                                .factor = first.factors[place_of(s, *example)]}});
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

std::optional<Fact> find_factors(Program& program) {
  static const std::vector<ConvShape> shapes = {{1, 1, 1, 1, 2, 1, 1},
                                                {1, 1, 1, 2, 3, 2, 1},
                                                {1, 1, 1, 3, 4, 3, 1},
                                                {1, 1, 1, 4, 5, 3, 1},
                                                {1, 1, 1, 4, 5, 4, 1}};
  for (const ConvShape& s : shapes) {
    const std::vector<Label> labels = labels_of(s);
    const auto taps = static_cast<std::size_t>(s.taps());
    std::vector<bool> wrong(labels.size(), false);
    std::vector<std::string> parts(labels.size());
    bool has_fractions = false;
    bool mixes_pixels = false;
    Numbers input(s.input_size());
    Numbers weights(s.weights_size());
    for (std::int64_t weight = 0; weight < s.weights_size(); ++weight) {
      weights[weight] = 1.0F;
      for (std::int64_t pixel = 0; pixel < s.input_size(); ++pixel) {
        input[pixel] = 1.0F;
        const Answer answer = program.run(s, input, weights);
        input[pixel] = 0.0F;
        if (answer.kind != Answer::Kind::kNumbers) return std::nullopt;
        for (std::size_t o = 0; o < answer.output.size(); ++o) {
          const std::size_t i = o * taps + static_cast<std::size_t>(weight);
          // Transforms round.
          constexpr double kFine = 4096.0;
          const double factor = std::round(static_cast<double>(answer.output[o]) * kFine) / kFine;
          if (!std::isfinite(factor)) return std::nullopt;
          const bool counts = pixel == input_index(s, labels[i]);
          wrong[i] = wrong[i] || factor != (counts ? 1.0 : 0.0);
          has_fractions = has_fractions || (factor != 0.0 && factor != 1.0);
          mixes_pixels = mixes_pixels || (!counts && factor != 0.0);
          if (factor == 0.0) continue;
          parts[i] +=
              (parts[i].empty() ? "" : ", ") + pixel_text(s, pixel) + " " + real(factor) + " times";
        }
      }
      weights[weight] = 0.0F;
    }
    const auto first = std::ranges::find(wrong, true);
    if (first == wrong.end()) continue;
    const auto i = static_cast<std::size_t>(first - wrong.begin());
    const std::string rule = common_rule({features_of(s, labels, true)}, {wrong});
    const bool all = std::ranges::find(wrong, false) == wrong.end();
    const std::string which = all            ? "All products"
                              : rule.empty() ? "Some products"
                                             : "Exactly the products with " + rule;
    const std::int64_t weight = weight_index(s, labels[i]);
    const std::int64_t pixel = input_index(s, labels[i]);
    Fact fact{.id = "E-terms",
              .measured = "Measured at " + to_string(s) +
                          " with one pixel and one weight at a time: output " +
                          output_text(labels[i]) + " should multiply " + weight_text(s, weight) +
                          " by " + pixel_text(s, pixel) + " once, and by nothing else.",
              .product = watched(s, {labels[i], {.pixel = pixel, .weight = weight}}),
              .cause = which + " come out wrong: output " + output_text(labels[i]) + " adds " +
                       weight_text(s, weight) + " times " +
                       (parts[i].empty() ? "nothing" : parts[i]) + "."};
    if (has_fractions && mixes_pixels) {
      fact.cause +=
          " Pixels count with factors other than 0 and 1, as in a transform (Winograd, FFT): one "
          "of "
          "its factors or signs is wrong. A rule with p and q points to the transform of the "
          "weights, one with h and w to that of the pixels or back to the outputs.";
      fact.next = "Compute this product by hand, through each line of the transforms.";
    }
    return fact;
  }
  return std::nullopt;
}

}  // namespace convlab::grader::probe
