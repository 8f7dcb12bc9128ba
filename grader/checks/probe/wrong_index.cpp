#include "grader/checks/probe/wrong_index.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
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

struct Letter {
  std::string name;
  std::function<int(const ConvShape&)> size;
  int cost;
  int kernels = 0;  ///< so often K is added
  int more = 0;

  [[nodiscard]] std::int64_t of(const ConvShape& s) const {
    return size(s) + kernels * s.kernel + more;
  }
};

// The sizes of a shape, and what students make of them.
const std::vector<Letter>& letters() {
  static const std::vector<Letter> all = [] {
    std::vector<Letter> made = {
        {"B", &ConvShape::batch, 2},         {"M", &ConvShape::out_channels, 2},
        {"C", &ConvShape::in_channels, 2},   {"H_out", &ConvShape::out_height, 2},
        {"W_out", &ConvShape::out_width, 2}, {"S", &ConvShape::stride, 2},
        {"H", &ConvShape::height, 2},        {"W", &ConvShape::width, 2},
        {"K", &ConvShape::kernel, 2}};
    for (const auto& [name, size, cost, kernels, more] : std::vector(made)) {
      if (name == "S") continue;
      made.push_back({"(" + name + " - 1)", size, 5, 0, -1});
      const bool is_count = name == "B" || name == "M" || name == "C";
      if (!is_count) made.push_back({"(" + name + " + 1)", size, 5, 0, 1});
    }
    for (const auto& [side, size] :
         {std::pair{"(H", &ConvShape::height}, {"(W", &ConvShape::width}}) {
      made.push_back({std::string(side) + " - K + 1)", size, 6, -1, 1});
      made.push_back({std::string(side) + " - K)", size, 8, -1});
      made.push_back({std::string(side) + " + K)", size, 6, 1});
    }
    return made;
  }();
  return all;
}

/// A simple expression: a product of up to four letters, a multiple of it, or one more or less.
struct Expression {
  std::string name;
  std::vector<std::size_t> letters{};
  int cost = 0;
  std::int64_t times = 1;
  std::int64_t more = 0;

  [[nodiscard]] std::int64_t at(const ConvShape& shape) const {
    std::int64_t value = times;
    for (const std::size_t letter : letters) value *= probe::letters()[letter].of(shape);
    return value + more;
  }
};

std::vector<Expression> made_expressions() {
  constexpr std::size_t kMostLetters = 4;
  constexpr int kMostCost = 12;
  std::vector<Expression> products = {{""}};
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (products[i].letters.size() == kMostLetters) continue;
    const std::size_t last = products[i].letters.empty() ? 0 : products[i].letters.back();
    for (std::size_t letter = last; letter < letters().size(); ++letter) {
      const Letter& times = letters()[letter];
      Expression next = products[i];
      // Nobody multiplies a number of images, maps or channels by itself.
      const bool is_count = std::string_view("BMCS").find(times.name) != std::string_view::npos;
      next.cost += times.cost + (is_count && i > 0 && letter == last ? 3 : 0);
      if (next.cost > kMostCost) continue;
      next.name += (next.name.empty() ? "" : "·") + times.name;
      next.letters.push_back(letter);
      products.push_back(std::move(next));
    }
  }
  std::vector<Expression> all;
  for (const Expression& product : products) {
    if (product.letters.empty()) continue;
    const auto add = [&](std::string name, int cost, std::int64_t times, std::int64_t more) {
      all.push_back({std::move(name), product.letters, product.cost + cost, times, more});
    };
    add(product.name, 0, 1, 0);
    add("(" + product.name + " - 1)", 4, 1, -1);
    add("(" + product.name + " + 1)", 4, 1, 1);
    add("-" + product.name, 2, -1, 0);
    for (const std::int64_t times : {2, 4, 16, 8, 32, 15, 17, 31, 33}) {
      add(std::to_string(times) + "·" + product.name, times <= 4 ? 4 : 5, times, 0);
    }
  }
  return all;
}

const std::vector<Expression>& expressions() {
  static const std::vector<Expression> all = made_expressions();
  return all;
}

// As variables_of orders them.
const std::vector<std::string> kVariables = {"b", "m", "c", "h", "p", "w", "q"};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
}

}  // namespace

std::string name_of(const std::vector<std::int64_t>& values, const std::vector<ConvShape>& shapes,
                    const std::string& right) {
  if (is_number(right)) {
    if (std::ranges::all_of(values, [&](auto value) { return std::to_string(value) == right; })) {
      return right;
    }
  }
  const bool same =
      std::ranges::all_of(values, [&](std::int64_t value) { return value == values.front(); });
  const bool of_output = right.find("_out") != std::string::npos;
  std::string best;
  int least = 1 << 20;
  for (const Expression& each : expressions()) {
    bool fits = true;
    for (std::size_t i = 0; i < values.size() && fits; ++i) fits = each.at(shapes[i]) == values[i];
    if (!fits) continue;
    // Only rows of an unrolled matrix are as long as a batch, and neither filters nor outputs have
    // a stride.
    const auto has = [&](const char* some) {
      return each.name.find_first_of(some) != std::string::npos;
    };
    int cost = each.cost;
    if (!has("HW") && (has("B") || (has("S") && has("K")))) cost += 6;
    if (has("S") && of_output) cost += 6;
    if (each.name == right) cost = -1;
    if (cost >= least) continue;
    least = cost;
    best = each.name;
  }
  // By chance long names fit few numbers.
  for (const int times : {2, 4, 8, 16, 32}) {
    if (is_number(right)) break;
    const bool fits = std::ranges::all_of(values, [&, i = std::size_t{0}](auto value) mutable {
      return value_of(right, shapes[i++]).value_or(0) * times == value;
    });
    if (fits && least > 3) best = std::to_string(times) + "·" + right, least = 3;
  }
  const int most = shapes.size() > 2 ? 10 : 8;
  if (least > most) best.clear();
  constexpr int kSimple = 4;
  const std::int64_t first = values.front();
  if (same && least >= 0 && (std::abs(first) <= 1 || (shapes.size() > 1 && least > kSimple))) {
    return std::to_string(first);
  }
  // One shape gives too many names.
  return shapes.size() > 1 || least < 0 ? best : std::string();
}

std::optional<std::int64_t> value_of(const std::string& name, const ConvShape& shape) {
  if (is_number(name)) return std::stoll(name);
  static const auto by_name = [] {
    std::unordered_map<std::string, const Expression*> all;
    for (const Expression& each : expressions()) all.emplace(each.name, &each);
    return all;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(found->second->at(shape));
}

std::string sum_text(const std::vector<std::string>& factors, const std::string& constant) {
  std::string text;
  const auto add = [&](std::string part) {
    const bool minus = part.starts_with('-');
    if (minus) part.erase(0, 1);
    text += text.empty() ? (minus ? "-" : "") : minus ? " - " : " + ";
    text += part;
  };
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i].empty() || factors[i] == "0") continue;
    const bool one = factors[i] == "1" || factors[i] == "-1";
    add(one ? (factors[i] == "1" ? "" : "-") + kVariables[i]
            : (factors[i].starts_with('-') ? "-" + kVariables[i] + "·" + factors[i].substr(1)
                                           : kVariables[i] + "·" + factors[i]));
  }
  if (!constant.empty() && constant != "0") add(constant);
  return text.empty() ? "0" : text;
}

std::vector<std::int64_t> variables_of(const Label& at) {
  return {at.b, at.m, at.c, at.h, at.p, at.w, at.q};
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
  const std::string& array = form.array;
  if (array == "output") return "E-output-order";
  // The factors that differ, by variable.
  std::map<std::string, std::string> wrong;
  for (std::size_t v = 0; v < index.factors.size(); ++v) {
    const std::string& factor = index.factors[v];
    if (!factor.empty() && factor != form.right[v]) wrong[kVariables[v]] = factor;
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
    if (wrong.size() == 2 && !shifted && is("m", "K·K") && is("c", "M·K·K")) {
      return "E-weights-order";
    }
    return only("m", "0") ? "E-first-map" : only("c", "0") ? "E-first-channel" : "E-index";
  }
  if (only("b", "0")) return "E-first-image";
  if (only("c", "0")) return "E-first-channel";
  if (wrong.empty() && index.constant.starts_with("-")) return "E-padding";
  const auto is_row = [&](const char* variable, const std::string& length) {
    return is(variable, length) || is(variable, "S·" + length);
  };
  const bool is_column = is("h", "1") || is("h", "S");
  if (is_column && (is_row("w", "W") || is_row("w", "H"))) return "E-rows-columns";
  if (wrong.contains("b") || wrong.contains("c")) return "E-index";
  const bool has_height = is_row("h", "H") || is_row("p", "H");
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
  const bool is_last = form.array == "output";
  for (std::size_t v = 0; v < kVariables.size(); ++v) {
    const std::string& factor = index.factors[v];
    const std::string& name = kVariables[v];
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

Explanation index_fact(const IndexForm& form, const NamedIndex& index,
                       const std::vector<ConvShape>& shapes) {
  const bool stores = form.array == "output";
  std::vector<std::string> right = form.right;
  for (std::size_t v = 0; v < right.size(); ++v) {
    // Of an output it is missing; otherwise it was not measured.
    if (index.factors[v].empty() && !stores) right[v].clear();
  }
  const std::string id = id_of(form, index);
  const std::string own = id + "/measured";
  Explanation fact = told(stores            ? "E-index/stored"
                          : is_variant(own) ? own
                                            : "E-index/measured",
                          {shapes_text(shapes), form.array, sum_text(index.factors, index.constant),
                           sum_text(right, "0"), differences(form, index)});
  if (id != fact.id) fact.next.clear();
  fact.id = id;
  return fact;
}

std::optional<WrongIndex> wrong_index(std::vector<LabelledTerms> all, bool by_weight) {
  // A shape may be so small that all of its products lie outside.
  std::erase_if(all, [](const LabelledTerms& terms) { return terms.terms.empty(); });
  const IndexForm& form = by_weight ? kInputForm : kWeightsForm;
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
  if (wrong.form == &kInputForm) ++size;
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
  const bool of_input = &form == &kInputForm;
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

Explanation fact_of(const WrongIndex& wrong) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : wrong.terms) shapes.push_back(terms.shape);
  Explanation fact = index_fact(*wrong.form, wrong.index, shapes);
  fact.predicts = [form = wrong.form, index = wrong.index](const DenseRun& run) {
    return predicts(*form, index, run);
  };
  show_wrong_product(fact, wrong.terms.front());
  if (wrong.form != &kInputForm) fact.picture.clear();
  return fact;
}

}  // namespace convlab::grader::probe
