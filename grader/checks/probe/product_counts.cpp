#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"
#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/predicate.hpp"

namespace convlab::grader::probe {

namespace {

/// The products of all outputs that are written, and how often each counts.
struct Counted {
  std::vector<Label> labels{};
  std::vector<double> factors{};
};

Counted counted(const LabelledTerms& terms) {
  Counted all;
  for (const Label& at : all_products(terms.shape)) {
    if (terms.unwritten[static_cast<std::size_t>(output_index(terms.shape, at))]) continue;
    all.labels.push_back(at);
    all.factors.push_back(terms.factors[place_of(terms.shape, at)]);
  }
  return all;
}

// Exactly the products with this have such a factor. If it has another number at each shape, that
// of the first one: a rule of one variable would be the same at all.
std::string rule_of(const std::vector<LabelledTerms>& all, const std::vector<Counted>& products,
                    bool (*has)(double factor)) {
  std::vector<std::vector<Feature>> features;
  std::vector<std::vector<bool>> marked;
  for (std::size_t i = 0; i < all.size(); ++i) {
    features.push_back(features_of(all[i].shape, products[i].labels, true));
    marked.emplace_back();
    std::ranges::transform(products[i].factors, std::back_inserter(marked.back()), has);
  }
  std::string rule = common_rule(features, marked);
  if (!rule.empty() || all.size() == 1) return rule;
  std::erase_if(features.front(), [](const Feature& each) {
    return !each.name.starts_with("the number of the") && !each.name.starts_with("(h·");
  });
  rule = common_rule({features.front()}, {marked.front()});
  return rule.empty() ? rule : rule + " (at " + to_string(all.front().shape) + ")";
}

// What it usually is if exactly the products of this rule are missing.
const char* id_of(const std::string& missing) {
  static const std::map<std::string, const char*> known = {
      {"c ≠ 0", "E-first-channel"},
      {"c ≥ 1", "E-first-channel"},
      {"c ≠ C - 1", "E-last-channel"},
      {"c < C - 1", "E-last-channel"},
      {"the number of the tap < C·K·K - 1", "E-last-tap"},
      {"the number of the tap ≠ C·K·K - 1", "E-last-tap"},
      {"the number of the tap = C·K·K - 1", "E-stored-early"},
      {"p = 0", "E-filter-edge"},
      {"q = 0", "E-filter-edge"},
      {"p < 1", "E-filter-edge"},
      {"q < 1", "E-filter-edge"},
      {"p = K - 1", "E-filter-edge"},
      {"q = K - 1", "E-filter-edge"},
      {"p = 0 or q = 0", "E-filter-edge"},
      {"p = K - 1 or q = K - 1", "E-filter-edge"}};
  const auto found = known.find(missing);
  return found == known.end() ? "E-terms" : found->second;
}

}  // namespace

std::optional<Fact> find_counts(const std::vector<LabelledTerms>& all) {
  std::vector<ConvShape> shapes;
  std::vector<Counted> products;
  for (const LabelledTerms& terms : all) {
    shapes.push_back(terms.shape);
    products.push_back(counted(terms));
    for (const Labelled& each : terms.terms) {
      if (!is_right_product(terms.shape, each)) return std::nullopt;
    }
  }
  const auto is_missing = [](double factor) { return factor == 0.0; };
  const auto is_scaled = [](double factor) { return factor != 0.0 && factor != 1.0; };
  const auto any = [&](const auto& has) {
    return std::ranges::any_of(
        products, [&](const Counted& own) { return std::ranges::any_of(own.factors, has); });
  };
  const Counted& first = products.front();
  // Which ones, or how many.
  const auto some = [&](const std::string& rule, const auto& has) {
    const auto whole = std::ssize(first.factors);
    const auto count = std::ranges::count_if(first.factors, has);
    if (count == whole) return std::string("all products");
    return rule.empty() ? number(count) + " of " + number(whole) + " products"
                        : "the products with " + rule;
  };
  std::vector<std::string> causes;
  Fact fact{.id = "E-terms"};
  if (any(is_missing)) {
    const std::string missing = rule_of(all, products, is_missing);
    causes.push_back(some(missing, is_missing) + " are missing");
    fact.id = id_of(missing);
  }
  if (any(is_scaled)) {
    std::set<double> factors;
    std::ranges::copy_if(first.factors, std::inserter(factors, factors.end()), is_scaled);
    causes.push_back(some(rule_of(all, products, is_scaled), is_scaled) + " count " +
                     (factors.size() == 1 ? real(*factors.begin()) + " times"
                                          : std::string("with another factor than 1")));
    fact.id = "E-terms";
  }
  if (causes.empty()) return std::nullopt;
  const std::string cause = joined(causes, "; ");
  const bool some_right = std::ranges::find(first.factors, 1.0) != first.factors.end();
  fact.measured = "Measured at " + shapes_text(shapes) + ": " + cause +
                  (some_right ? ". All others are right." : ".");
  fact.cause = sentence(cause);
  if (fact.id == "E-terms") fact.next = told("E-terms/counts").next;
  const auto wrong = std::ranges::find_if(first.factors, [](double each) { return each != 1.0; });
  if (wrong == first.factors.end()) return fact;
  const ConvShape& s = shapes.front();
  const Label& at = first.labels[static_cast<std::size_t>(wrong - first.factors.begin())];
  show_example(fact, all.front(),
               {at, {output_index(s, at), input_index(s, at), weight_index(s, at), *wrong}});
  return fact;
}

std::optional<Fact> find_factors(Program& program) {
  static const std::vector<ConvShape> shapes = {{1, 1, 1, 1, 2, 1, 1},
                                                {1, 1, 1, 2, 3, 2, 1},
                                                {1, 1, 1, 3, 4, 3, 1},
                                                {1, 1, 1, 4, 5, 3, 1},
                                                {1, 1, 1, 4, 5, 4, 1}};
  for (const ConvShape& s : shapes) {
    const std::vector<Label> labels = all_products(s);
    std::vector<bool> wrong(labels.size(), false);
    std::vector<std::vector<std::string>> parts(labels.size());
    bool is_transform = false;
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
          const auto i = o * static_cast<std::size_t>(s.taps()) + static_cast<std::size_t>(weight);
          // Transforms round.
          constexpr double kFine = 4096.0;
          const double factor = std::round(static_cast<double>(answer.output[o]) * kFine) / kFine;
          if (!std::isfinite(factor)) return std::nullopt;
          const bool counts = pixel == input_index(s, labels[i]);
          wrong[i] = wrong[i] || factor != (counts ? 1.0 : 0.0);
          is_transform = is_transform || (!counts && factor != std::round(factor));
          if (factor != 0.0)
            parts[i].push_back(pixel_text(s, pixel) + " " + real(factor) + " times");
        }
      }
      weights[weight] = 0.0F;
    }
    const auto first = std::ranges::find(wrong, true);
    if (first == wrong.end()) continue;
    const auto i = static_cast<std::size_t>(first - wrong.begin());
    const std::string rule = common_rule({features_of(s, labels, true)}, {wrong});
    const std::int64_t weight = weight_index(s, labels[i]);
    const std::int64_t pixel = input_index(s, labels[i]);
    Fact fact =
        told(is_transform ? "E-terms/transform" : "E-terms/one-by-one",
             {to_string(s), output_text(labels[i]), weight_text(s, weight), pixel_text(s, pixel),
              rule.empty() ? "Products" : "Exactly the products with " + rule,
              parts[i].empty() ? "nothing" : joined(parts[i], ", ")});
    fact.product = watched(s, {labels[i], {.pixel = pixel, .weight = weight}});
    return fact;
  }
  return std::nullopt;
}

}  // namespace convlab::grader::probe
