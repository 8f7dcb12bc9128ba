#include "grader/checks/probe/affine.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

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
  std::function<std::int64_t(const ConvShape&)> of;
  int cost;
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
    for (const Letter& size : std::vector(made)) {
      if (size.name == "S") continue;
      const auto near = [&](const char* more, int by) {
        made.push_back({"(" + size.name + more,
                        [of = size.of, by](const ConvShape& s) { return of(s) + by; }, 5});
      };
      near(" - 1)", -1);
      if (std::string_view("BMC").find(size.name) == std::string_view::npos) near(" + 1)", 1);
    }
    for (const auto& [side, of] : {std::pair{"H", &ConvShape::height}, {"W", &ConvShape::width}}) {
      const auto with_kernel = [&](const char* more, int times, int by, int cost) {
        made.push_back({std::string("(") + side + more,
                        [of, times, by](const ConvShape& s) -> std::int64_t {
                          return s.*of + times * s.kernel + by;
                        },
                        cost});
      };
      with_kernel(" - K + 1)", -1, 1, 6);
      with_kernel(" - K)", -1, 0, 8);
      with_kernel(" + K)", 1, 0, 6);
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
  std::string best;
  int least = 1 << 20;
  for (const Expression& each : expressions()) {
    bool fits = true;
    for (std::size_t i = 0; i < values.size() && fits; ++i) fits = each.at(shapes[i]) == values[i];
    if (!fits) continue;
    // Only rows of an unrolled matrix are as long as the number of images, and no filter has a
    // stride.
    const auto has = [&](const char* some) {
      return each.name.find_first_of(some) != std::string::npos;
    };
    int cost = each.cost;
    if (!has("HW") && (has("B") || (has("S") && has("K")))) cost += 6;
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
  const auto found = std::ranges::find(expressions(), name, &Expression::name);
  return found == expressions().end() ? std::nullopt : std::optional(found->at(shape));
}

std::string sum_text(const std::vector<std::string>& factors,
                     const std::vector<std::string>& variables, const std::string& constant) {
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
    add(one ? (factors[i] == "1" ? "" : "-") + variables[i]
            : (factors[i].starts_with('-') ? "-" + variables[i] + "·" + factors[i].substr(1)
                                           : variables[i] + "·" + factors[i]));
  }
  if (!constant.empty() && constant != "0") add(constant);
  return text.empty() ? "0" : text;
}

}  // namespace convlab::grader::probe
