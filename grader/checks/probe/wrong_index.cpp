#include "grader/checks/probe/wrong_index.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"

namespace convlab::grader::probe {

std::vector<std::int64_t> variables_of(const Label& at) {
  return {at.b, at.m, at.c, at.h, at.p, at.w, at.q};
}

const IndexForm& input_form() {
  static const IndexForm form{
      "input", {"b", "m", "c", "h", "p", "w", "q"}, {"C·H·W", "0", "H·W", "S·W", "W", "S", "1"}};
  return form;
}

const IndexForm& weights_form() {
  static const IndexForm form{
      "weights", {"b", "m", "c", "h", "p", "w", "q"}, {"0", "C·K·K", "K·K", "0", "K", "0", "1"}};
  return form;
}

const IndexForm& output_form() {
  static const IndexForm form{"output",
                              {"b", "m", "c", "h", "p", "w", "q"},
                              {"M·H_out·W_out", "H_out·W_out", "0", "W_out", "0", "1", "0"}};
  return form;
}

std::optional<NamedIndex> named_index(const IndexForm& form, const std::vector<ConvShape>& shapes,
                                      const std::vector<std::vector<Point>>& points) {
  std::vector<Affine> fits;
  for (const auto& each : points) {
    auto fitted = fit(each);
    if (!fitted) return std::nullopt;
    fits.push_back(std::move(*fitted));
  }
  NamedIndex named;
  for (std::size_t v = 0; v <= form.variables.size(); ++v) {
    const bool is_constant = v == form.variables.size();
    std::vector<std::int64_t> values;
    std::vector<ConvShape> where;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      const auto known = is_constant ? std::optional(fits[i].constant) : fits[i].factors[v];
      if (!known) continue;
      values.push_back(*known);
      where.push_back(shapes[i]);
    }
    std::string name =
        values.empty() ? "" : name_of(values, where, is_constant ? "0" : form.right[v]);
    if (name.empty() && !values.empty()) return std::nullopt;
    if (is_constant) {
      named.constant = std::move(name);
    } else {
      named.factors.push_back(std::move(name));
    }
  }
  return named;
}

namespace {

// Which of the usual names this index has.
std::string id_of(const IndexForm& form, const NamedIndex& index) {
  const std::string array = form.array;
  if (array == "output") return "E-output-order";
  // The factors that differ, by variable.
  std::map<std::string, std::string> wrong;
  for (std::size_t v = 0; v < index.factors.size(); ++v) {
    const std::string& factor = index.factors[v];
    if (!factor.empty() && factor != form.right[v]) wrong[form.variables[v]] = factor;
  }
  const bool shifted = index.constant != "0";
  const auto is = [&](const char* variable, const std::string& factor) {
    return wrong.contains(variable) && wrong.at(variable) == factor;
  };
  const auto only = [&](const char* variable, const char* factor) {
    return !shifted && wrong.size() == 1 && is(variable, factor);
  };
  if (array == "weights") {
    if (wrong.size() == 2 && !shifted && is("p", "1") && is("q", "K"))
      return "E-transposed-weights";
    if (is("p", "-K") && is("q", "-1")) return "E-flipped-weights";
    if (wrong.size() == 2 && !shifted && wrong.contains("m") && is("c", "M·K·K")) {
      return "E-weights-order";
    }
    return only("m", "0") ? "E-first-map" : only("c", "0") ? "E-first-channel" : "E-index";
  }
  if (only("b", "0")) return "E-first-image";
  if (only("c", "0")) return "E-first-channel";
  if (wrong.empty() && index.constant.starts_with("-")) return "E-padding";
  if (wrong.contains("w") && wrong["w"].find_first_of("HW") != std::string::npos) {
    return "E-rows-columns";
  }
  if (wrong.contains("b") || wrong.contains("c")) return "E-index";
  const bool has_height = std::ranges::any_of(wrong, [](const auto& each) {
    return (each.first == "h" || each.first == "p") && each.second.find('H') != std::string::npos &&
           each.second.find("H_out") == std::string::npos;
  });
  if (has_height) return wrong.contains("m") ? "E-index" : "E-height-width";
  const bool without_stride = (!wrong.contains("h") || is("h", "W")) &&
                              (!wrong.contains("w") || is("w", "1")) && !wrong.contains("p") &&
                              !wrong.contains("q");
  const bool by_tap = is("p", "S·W") || is("q", "S");
  return !shifted && (without_stride || by_tap) ? "E-stride" : "E-index";
}

// What differs, one sentence for each variable.
std::string differences(const IndexForm& form, const NamedIndex& index) {
  std::vector<std::string> parts;
  const bool is_last = form.array == std::string("output");
  for (std::size_t v = 0; v < form.variables.size(); ++v) {
    const std::string& factor = index.factors[v];
    const std::string& name = form.variables[v];
    // Several sums have the same place, and all that is left has one value of the variable.
    if (factor.empty() && is_last) {
      if (form.right[v] != "0") parts.push_back(name + " is missing or has no effect");
      continue;
    }
    if (factor.empty() || factor == form.right[v]) continue;
    parts.push_back(factor == "0" ? name + " is missing"
                    : form.right[v] == "0"
                        ? name + " occurs in it, times " + factor
                        : name + " is multiplied by " + factor + ", not by " + form.right[v]);
  }
  if (index.constant != "0") parts.push_back(index.constant + " is added");
  return joined(parts, "; ");
}

}  // namespace

Fact index_fact(const IndexForm& form, const NamedIndex& index,
                const std::vector<ConvShape>& shapes) {
  std::vector<std::string> right = form.right;
  for (std::size_t v = 0; v < right.size(); ++v) {
    if (index.factors[v].empty()) right[v].clear();
  }
  Fact fact{.id = id_of(form, index)};
  const std::string array = form.array;
  const bool stores = array == "output";
  fact.measured = std::string("Measured at ") + shapes_text(shapes) +
                  (stores ? ": the sum of output (b, m, h, w) is stored at index\n    "
                          : ": the index of the " + array + " is\n    ") +
                  sum_text(index.factors, form.variables, index.constant) +
                  "\nand should be\n    " + sum_text(right, form.variables, "0");
  fact.cause = "In the index of the " + array + ": " + differences(form, index) + ".";
  if (fact.id == "E-transposed-weights") {
    fact.cause +=
        " Or p and q are exchanged where the pixel is computed: that gives the same "
        "products.";
  }
  if (fact.id == "E-index") {
    fact.next = "Find the line with " + array + "[…] and compare it with the second formula: " +
                "variables, factors and parentheses.";
  }
  return fact;
}

std::optional<WrongIndex> wrong_index(std::vector<LabelledTerms> all, bool by_weight) {
  // A shape may be so small that all of its products lie outside.
  std::erase_if(all, [](const LabelledTerms& terms) { return terms.terms.empty(); });
  const IndexForm& form = by_weight ? input_form() : weights_form();
  std::vector<ConvShape> shapes;
  std::vector<std::vector<Point>> points;
  bool all_right = true;
  for (const LabelledTerms& terms : all) {
    shapes.push_back(terms.shape);
    points.emplace_back();
    for (const Labelled& each : terms.terms) {
      points.back().push_back(
          {variables_of(each.at), by_weight ? each.term.pixel : each.term.weight});
      all_right = all_right && is_right_product(terms.shape, each);
    }
  }
  if (all_right) return std::nullopt;
  auto named = named_index(form, shapes, points);
  if (!named) return std::nullopt;
  return WrongIndex{&form, std::move(*named), all};
}

std::size_t complexity(const WrongIndex& wrong) {
  std::size_t size = 0;
  for (std::size_t v = 0; v < wrong.index.factors.size(); ++v) {
    size += wrong.index.factors[v] != wrong.form->right[v] ? 10 + wrong.index.factors[v].size() : 0;
  }
  // Of two that are as simple, the index of the weights, which has fewer variables.
  if (wrong.form == &input_form()) ++size;
  return size + (wrong.index.constant == "0" ? 0 : 10);
}

bool predicts(const IndexForm& form, const NamedIndex& index, const DenseRun& run) {
  const ConvShape& s = run.shape;
  Affine there;
  for (std::size_t v = 0; v < index.factors.size(); ++v) {
    const std::string& name = index.factors[v].empty() ? form.right[v] : index.factors[v];
    there.factors.push_back(value_of(name, s));
    if (!there.factors.back()) return false;
  }
  const auto constant = value_of(index.constant, s);
  if (!constant) return false;
  there.constant = *constant;
  const bool of_input = &form == &input_form();
  const auto read = [](const Numbers& numbers, std::int64_t i) {
    const bool inside = i >= -Numbers::kMargin && i < numbers.size() + Numbers::kMargin;
    return inside ? static_cast<double>(numbers[i]) : 0.0;
  };
  constexpr std::int64_t kEnough = 2000;
  for (std::int64_t o = 0; o < std::min(kEnough, s.output_size()); ++o) {
    Label at = output_label(s, o);
    double sum = 0.0;
    for (at.c = 0; at.c < s.in_channels; ++at.c) {
      for (at.p = 0; at.p < s.kernel; ++at.p) {
        for (at.q = 0; at.q < s.kernel; ++at.q) {
          const std::int64_t measured = there.at(variables_of(at));
          sum += read(run.input, of_input ? measured : input_index(s, at)) *
                 read(run.weights, of_input ? weight_index(s, at) : measured);
        }
      }
    }
    if (sum != static_cast<double>(run.answer.output[static_cast<std::size_t>(o)])) return false;
  }
  return true;
}

Fact fact_of(const WrongIndex& wrong) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : wrong.terms) shapes.push_back(terms.shape);
  Fact fact = index_fact(*wrong.form, wrong.index, shapes);
  fact.predicts = [form = wrong.form, index = wrong.index](const DenseRun& run) {
    return predicts(*form, index, run);
  };
  const LabelledTerms& terms = wrong.terms.front();
  for (const Labelled& each : terms.terms) {
    if (is_right_product(terms.shape, each)) continue;
    show_example(fact, terms, each);
    if (wrong.form != &input_form()) fact.picture.clear();
    break;
  }
  return fact;
}

}  // namespace convlab::grader::probe
