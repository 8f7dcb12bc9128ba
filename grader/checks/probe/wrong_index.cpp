#include "grader/checks/probe/wrong_index.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "common/serve/finding_texts.hpp"

namespace convlab::grader::probe {

std::int64_t Affine::at(const std::vector<std::int64_t>& variables) const {
  std::int64_t value = constant;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    value += factors[i].value_or(0) * variables[i];
  }
  return value;
}

std::optional<Affine> fit(const std::vector<Point>& points) {
  if (points.empty()) return std::nullopt;
  const Point& origin = points.front();
  Affine result;
  for (std::size_t v = 0; v < origin.variables.size(); ++v) {
    // Two points that differ in this variable alone.
    std::map<std::vector<std::int64_t>, const Point*> by_others;
    std::optional<std::int64_t> factor;
    for (const Point& point : points) {
      std::vector<std::int64_t> others = point.variables;
      others[v] = 0;
      const Point& other = *by_others.emplace(std::move(others), &point).first->second;
      const std::int64_t step = point.variables[v] - other.variables[v];
      if (step == 0) continue;
      if ((point.value - other.value) % step != 0) return std::nullopt;
      factor = (point.value - other.value) / step;
      break;
    }
    result.factors.push_back(factor);
  }
  result.constant = origin.value - result.at(origin.variables);
  const bool exact = std::ranges::all_of(
      points, [&](const Point& point) { return result.at(point.variables) == point.value; });
  return exact ? std::optional(result) : std::nullopt;
}

namespace {

// As variables_of orders them.
constexpr std::string_view kVariables = "bmchpwq";

}  // namespace

const IndexForm& form_of(IndexForm::Array array) {
  static const std::vector<IndexForm> forms = [] {
    std::vector<IndexForm> made;
    using enum IndexForm::Array;
    using Factors = std::vector<const char*>;
    for (const auto& [of, right] :
         {std::pair{kInput, Factors{"C·H·W", "0", "H·W", "S·W", "W", "S", "1"}},
          {kWeights, Factors{"0", "C·K·K", "K·K", "0", "K", "0", "1"}},
          {kOutput, Factors{"M·H_out·W_out", "H_out·W_out", "0", "W_out", "0", "1", "0"}}}) {
      made.push_back({of, {}});
      for (const char* factor : right) made.back().right.push_back(size_expression(factor));
    }
    return made;
  }();
  return forms[static_cast<std::size_t>(array)];
}

const char* IndexForm::name() const {
  return array == Array::kInput ? "input" : array == Array::kWeights ? "weights" : "output";
}

std::string NamedIndex::text() const {
  std::string text;
  const auto add = [&](const SizeExpression& part, char variable) {
    if (part == number_expression(0)) return;
    const bool minus = part.times < 0;
    text += text.empty() ? (minus ? "-" : "") : minus ? " - " : " + ";
    const SizeExpression size = part.times_of(minus ? -1 : 1);
    if (variable != 0) text += variable;
    if (variable != 0 && size == number_expression(1)) return;
    text += (variable == 0 ? "" : "·") + size.text();
  };
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i]) add(*factors[i], kVariables[i]);
    if (alone.contains(i))
      text += (text.empty() ? "" : " + ") + std::string(1, kVariables[i]) + "·?";
  }
  add(constant, 0);
  return text.empty() ? "0" : text;
}

std::vector<std::int64_t> variables_of(const Label& at) {
  return {at.b, at.m, at.c, at.h, at.p, at.w, at.q};
}

namespace {

// How many values a variable of an output's index has.
int range_of(std::size_t v, const ConvShape& s) {
  return std::array{s.batch, s.out_channels, 1, s.out_height(), 1, s.out_width(), 1}[v];
}

// Of a variable with one value at each shape: whether it is everywhere the last one.
bool is_last(std::size_t v, const std::vector<ConvShape>& shapes,
             const std::vector<std::vector<Point>>& points) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!points[i].empty() && points[i].front().variables[v] + 1 != range_of(v, shapes[i]))
      return false;
  }
  return true;
}

// Whether a variable without a factor was measured. Where several sums have the same place the last
// one stays; a variable that has a single value says nothing.
bool has_no_effect(std::size_t v, const IndexForm& form, const std::vector<ConvShape>& shapes) {
  return form.array == IndexForm::Array::kOutput && form.right[v] != number_expression(0) &&
         std::ranges::any_of(shapes, [&](const ConvShape& s) { return range_of(v, s) > 1; });
}

}  // namespace

std::optional<NamedIndex> named_index(const IndexForm& form, const std::vector<ConvShape>& shapes,
                                      const std::vector<std::vector<Point>>& points) {
  std::vector<Affine> fits;
  for (const auto& each : points) {
    auto fitted = fit(each);
    if (!fitted) return std::nullopt;
    fits.push_back(std::move(*fitted));
  }
  NamedIndex named;
  for (std::size_t v = 0; v <= kVariables.size(); ++v) {
    const bool is_constant = v == kVariables.size();
    std::vector<std::int64_t> values;
    std::vector<ConvShape> where;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      const auto known = is_constant ? std::optional(fits[i].constant) : fits[i].factors[v];
      if (!known) continue;
      values.push_back(*known);
      where.push_back(shapes[i]);
    }
    std::optional<SizeExpression> found;
    if (!values.empty()) {
      found = expression_of(values, where, is_constant ? number_expression(0) : form.right[v]);
      if (!found) return std::nullopt;
    }
    const bool is_stored = form.array == IndexForm::Array::kOutput && !is_constant &&
                           form.right[v] != number_expression(0);
    if (values.empty() && is_stored && !is_last(v, shapes, points)) named.alone.insert(v);
    if (is_constant) {
      named.constant = *found;
    } else {
      named.factors.push_back(std::move(found));
    }
  }
  return named;
}

namespace {

// Which of the usual names this index has.
std::string id_of(const IndexForm& form, const NamedIndex& index) {
  using enum IndexForm::Array;
  if (form.array == kOutput) return "E-output-order";
  // The factors that differ, by variable.
  std::map<char, SizeExpression> wrong;
  for (std::size_t v = 0; v < index.factors.size(); ++v) {
    const auto& factor = index.factors[v];
    if (factor && *factor != form.right[v]) wrong.emplace(kVariables[v], *factor);
  }
  const bool shifted = index.constant != number_expression(0);
  const auto is = [&](char variable, const std::string& factor) {
    return wrong.contains(variable) && wrong.at(variable) == size_expression(factor);
  };
  const auto only = [&](char variable, const char* factor) {
    return !shifted && wrong.size() == 1 && is(variable, factor);
  };
  if (form.array == kWeights) {
    if (wrong.size() == 2 && !shifted && is('p', "1") && is('q', "K"))
      return "E-transposed-weights";
    if (is('p', "-K") && is('q', "-1")) return "E-flipped-weights";
    if (wrong.size() == 2 && !shifted && is('m', "K·K") && is('c', "M·K·K")) {
      return "E-weights-order";
    }
    return only('m', "0") ? "E-first-map" : only('c', "0") ? "E-first-channel" : "E-index";
  }
  if (only('b', "0")) return "E-first-image";
  if (only('c', "0")) return "E-first-channel";
  if (wrong.empty() && index.constant.times < 0) return "E-padding";
  const auto is_row = [&](char variable, const std::string& length) {
    return is(variable, length) || is(variable, "S·" + length);
  };
  const bool is_column = is('h', "1") || is('h', "S");
  if (is_column && (is_row('w', "W") || is_row('w', "H"))) return "E-rows-columns";
  if (wrong.contains('b') || wrong.contains('c')) return "E-index";
  const bool has_height = is_row('h', "H") || is_row('p', "H");
  if (has_height) return wrong.contains('m') ? "E-index" : "E-height-width";
  const bool without_stride = (!wrong.contains('h') || is('h', "W")) &&
                              (!wrong.contains('w') || is('w', "1")) && !wrong.contains('p') &&
                              !wrong.contains('q');
  const bool by_tap = is('p', "S·W") || is('q', "S");
  return !shifted && (without_stride || by_tap) ? "E-stride" : "E-index";
}

// What differs, one part for each variable. A factor of one stride may hold the stride, or be a
// number for it.
std::string differences(const IndexForm& form, const NamedIndex& index,
                        const std::vector<ConvShape>& shapes) {
  std::vector<std::string> parts;
  const SizeExpression none = number_expression(0);
  for (std::size_t v = 0; v < kVariables.size(); ++v) {
    const auto& factor = index.factors[v];
    const SizeExpression& right = form.right[v];
    const std::string name(1, kVariables[v]);
    // Several sums have the same place, and all that is left has one value of the variable.
    if (index.alone.contains(v)) {
      parts.push_back("sums of one " + name + " alone are found");
      continue;
    }
    if (!factor && has_no_effect(v, form, shapes))
      parts.push_back(name + " is missing or has no effect");
    if (!factor || *factor == right) continue;
    parts.push_back(*factor == none ? name + " is missing"
                    : right == none ? name + " occurs in it, times " + factor->text()
                                    : name + " is multiplied by " + factor->text() + ", not by " +
                                          right.text());
  }
  if (index.constant != none) parts.push_back(index.constant.text() + " is added");
  const int stride = shapes.front().stride;
  const bool is_one =
      form.array == IndexForm::Array::kInput &&
      std::ranges::all_of(shapes, [&](const ConvShape& s) { return s.stride == stride; });
  return joined(parts, "; ") + (is_one ? ", where S = " + number(stride) : "");
}

}  // namespace

namespace {

// For {1} to {4} of a text: the array, its index, the right one, and how they differ.
std::vector<std::string> texts_of(const IndexForm& form, const NamedIndex& index,
                                  const std::vector<ConvShape>& shapes) {
  NamedIndex right{.factors = {form.right.begin(), form.right.end()}};
  for (std::size_t v = 0; v < right.factors.size(); ++v) {
    if (!index.factors[v] && !has_no_effect(v, form, shapes)) right.factors[v].reset();
  }
  return {form.name(), index.text(), right.text(), differences(form, index, shapes)};
}

}  // namespace

Explanation index_fact(const IndexForm& form, const NamedIndex& index,
                       const std::vector<ConvShape>& shapes, const WrongIndex* rival) {
  const bool stores = form.array == IndexForm::Array::kOutput;
  std::vector<std::string> values = texts_of(form, index, shapes);
  values.insert(values.begin(), shapes_text(shapes));
  if (rival != nullptr)
    std::ranges::move(texts_of(*rival->form, rival->index, shapes), std::back_inserter(values));
  const std::string id = id_of(form, index);
  Explanation fact = told(stores             ? "E-index/stored"
                          : rival != nullptr ? "E-index/either"
                                             : "E-index/measured",
                          values);
  if (id != fact.id && rival == nullptr) fact.next.clear();
  fact.id = id;
  return fact;
}

std::optional<WrongIndex> wrong_index(std::vector<LabelledTerms> all, bool by_weight) {
  // A shape may be so small that all of its products lie outside.
  std::erase_if(all, [](const LabelledTerms& terms) { return terms.terms.empty(); });
  const IndexForm& form =
      form_of(by_weight ? IndexForm::Array::kInput : IndexForm::Array::kWeights);
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
    const auto& factor = wrong.index.factors[v];
    if (factor != wrong.form->right[v]) size += 10 + (factor ? factor->text().size() : 0);
  }
  // Of two that are as simple, the index of the weights, which has fewer variables.
  if (wrong.form->array == IndexForm::Array::kInput) ++size;
  return size + (wrong.index.constant == number_expression(0) ? 0 : 10);
}

bool predicts(const IndexForm& form, const NamedIndex& index, const DenseRun& run) {
  const ConvShape& s = run.shape;
  Affine there;
  for (std::size_t v = 0; v < index.factors.size(); ++v) {
    there.factors.push_back(index.factors[v].value_or(form.right[v]).at(s));
  }
  there.constant = index.constant.at(s);
  const bool of_input = form.array == IndexForm::Array::kInput;
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

Explanation fact_of(const WrongIndex& wrong, const WrongIndex* rival) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : wrong.terms) shapes.push_back(terms.shape);
  Explanation fact = index_fact(*wrong.form, wrong.index, shapes, rival);
  fact.predicts = [form = wrong.form, index = wrong.index](const DenseRun& run) {
    return predicts(*form, index, run);
  };
  show_wrong_product(fact, wrong.terms.front());
  if (wrong.form->array != IndexForm::Array::kInput) fact.picture.clear();
  return fact;
}

}  // namespace convlab::grader::probe
