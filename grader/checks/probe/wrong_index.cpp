#include "grader/checks/probe/wrong_index.hpp"

#include <algorithm>
#include <utility>

namespace convlab::grader::probe {

std::optional<WrongIndex> wrong_index(const std::vector<LabelledTerms>& all, bool by_weight) {
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
  std::size_t size = wrong.index.has_names ? 0 : 100;
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
    fact.measured += product_by_hand(terms.shape, each);
    if (wrong.form == &input_form()) fact.measured += window_picture(terms, each.at);
    break;
  }
  return fact;
}

}  // namespace convlab::grader::probe
