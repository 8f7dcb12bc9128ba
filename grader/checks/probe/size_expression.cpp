#include "grader/checks/probe/size_expression.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace convlab::grader::probe {

namespace {

/// A size of a shape, and what students make of it: "(W - K + 1)".
struct NamedSize {
  std::string name;
  std::function<int(const ConvShape&)> value;
  int cost;
  int kernels = 0;  ///< so often K is added
  int more = 0;
  char letter = name.front();
  bool is_output = name.ends_with("_out");

  [[nodiscard]] std::int64_t of(const ConvShape& s) const {
    return value(s) + kernels * s.kernel + more;
  }
};

const std::vector<NamedSize>& all_sizes() {
  static const std::vector<NamedSize> all = [] {
    std::vector<NamedSize> made = {
        {"B", &ConvShape::batch, 2},         {"M", &ConvShape::out_channels, 2},
        {"C", &ConvShape::in_channels, 2},   {"H_out", &ConvShape::out_height, 2},
        {"W_out", &ConvShape::out_width, 2}, {"S", &ConvShape::stride, 2},
        {"H", &ConvShape::height, 2},        {"W", &ConvShape::width, 2},
        {"K", &ConvShape::kernel, 2}};
    const auto add = [&made](const NamedSize& of, const char* end, int cost, int kernels,
                             int more) {
      made.push_back({"(" + of.name + end, of.value, cost, kernels, more, of.letter, of.is_output});
    };
    for (const NamedSize& size : std::vector(made)) {
      if (size.letter == 'S') continue;
      add(size, " - 1)", 5, 0, -1);
      const bool is_count = size.letter == 'B' || size.letter == 'M' || size.letter == 'C';
      if (!is_count) add(size, " + 1)", 5, 0, 1);
    }
    for (const NamedSize& size : std::vector(made)) {
      if (size.name != "H" && size.name != "W") continue;
      add(size, " - K + 1)", 6, -1, 1);
      add(size, " - K)", 8, -1, 0);
      add(size, " + K)", 6, 1, 0);
    }
    return made;
  }();
  return all;
}

/// An expression, and how unusual it is.
struct Candidate {
  SizeExpression expression{};
  int cost = 0;
};

std::vector<Candidate> made_candidates() {
  constexpr std::size_t kMostSizes = 4;
  constexpr int kMostCost = 12;
  std::vector<Candidate> products = {{}};
  for (std::size_t i = 0; i < products.size(); ++i) {
    const std::vector<std::size_t> sizes = products[i].expression.sizes;
    if (sizes.size() == kMostSizes) continue;
    const std::size_t last = sizes.empty() ? 0 : sizes.back();
    for (std::size_t size = last; size < all_sizes().size(); ++size) {
      const NamedSize& times = all_sizes()[size];
      Candidate next = products[i];
      // Nobody multiplies a number of images, maps or channels by itself.
      const bool is_count = std::string_view("BMCS").find(times.name) != std::string_view::npos;
      next.cost += times.cost + (is_count && i > 0 && size == last ? 3 : 0);
      if (next.cost > kMostCost) continue;
      next.expression.sizes.push_back(size);
      products.push_back(std::move(next));
    }
  }
  std::vector<Candidate> all;
  for (const auto& [product, cost] : products) {
    if (product.is_number()) continue;
    all.push_back({product, cost});
    all.push_back({{product.sizes, 1, -1}, cost + 4});
    all.push_back({{product.sizes, 1, 1}, cost + 4});
    all.push_back({{product.sizes, -1}, cost + 2});
    for (const std::int64_t times : {2, 4, 16, 8, 32, 15, 17, 31, 33}) {
      all.push_back({{product.sizes, times}, cost + (times <= 4 ? 4 : 5)});
    }
  }
  return all;
}

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = made_candidates();
  return all;
}

}  // namespace

std::int64_t SizeExpression::at(const ConvShape& shape) const {
  std::int64_t value = times;
  for (const std::size_t size : sizes) value *= all_sizes()[size].of(shape);
  return value + more;
}

std::string SizeExpression::text() const {
  if (is_number()) return std::to_string(times);
  std::string product;
  for (const std::size_t size : sizes)
    product += (product.empty() ? "" : "·") + all_sizes()[size].name;
  if (more != 0) return "(" + product + (more < 0 ? " - 1)" : " + 1)");
  return times == 1 ? product : times == -1 ? "-" + product : std::to_string(times) + "·" + product;
}

SizeExpression size_expression(const std::string& text) {
  if (text.find_first_not_of("-0123456789") == std::string::npos) {
    return number_expression(std::stoll(text));
  }
  const std::string dot = "·";
  SizeExpression product{.times = text.starts_with('-') ? -1 : 1};
  for (std::size_t at = product.times < 0 ? 1 : 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(dot, at), text.size());
    const auto size = std::ranges::find(all_sizes(), text.substr(at, end - at), &NamedSize::name);
    if (size == all_sizes().end()) throw std::out_of_range("no expression " + text);
    product.sizes.push_back(static_cast<std::size_t>(size - all_sizes().begin()));
    at = end + dot.size();
  }
  std::ranges::sort(product.sizes);
  return product;
}

std::optional<SizeExpression> expression_of(const std::vector<std::int64_t>& values,
                                            const std::vector<ConvShape>& shapes,
                                            const std::optional<SizeExpression>& right) {
  const auto gives_all = [&](const SizeExpression& each) {
    bool fits = true;
    for (std::size_t i = 0; i < values.size() && fits; ++i) fits = each.at(shapes[i]) == values[i];
    return fits;
  };
  const bool is_factor = right && !right->is_number();
  if (right && !is_factor && gives_all(*right)) return right;
  const bool same =
      std::ranges::all_of(values, [&](std::int64_t value) { return value == values.front(); });
  const auto has_one = [](const SizeExpression& each, const auto& is_it) {
    return std::ranges::any_of(each.sizes,
                               [&](std::size_t i) { return std::invoke(is_it, all_sizes()[i]); });
  };
  const bool of_output = right && has_one(*right, &NamedSize::is_output);
  std::optional<SizeExpression> best;
  int least = 1 << 20;
  for (const auto& [each, usual_cost] : candidates()) {
    if (!gives_all(each)) continue;
    // Only rows of an unrolled matrix are as long as a batch, and neither filters nor outputs have
    // a stride.
    const auto has = [&, &expression = each](std::string_view letters) {
      return has_one(expression, [&](const NamedSize& size) {
        return letters.find(size.letter) != letters.npos || (size.kernels != 0 && letters == "K");
      });
    };
    int cost = usual_cost;
    if (!has("HW") && (has("B") || (has("S") && has("K")))) cost += 6;
    if (has("S") && of_output) cost += 6;
    if (each == right) cost = -1;
    if (cost >= least) continue;
    least = cost;
    best = each;
  }
  // By chance long names fit few numbers.
  for (const int times : {2, 4, 8, 16, 32}) {
    if (!is_factor) break;
    const SizeExpression several = right->times_of(times);
    if (least > 3 && gives_all(several)) best = several, least = 3;
  }
  const int most = shapes.size() > 2 ? 10 : 8;
  if (least > most) best.reset();
  constexpr int kSimple = 4;
  const std::int64_t first = values.front();
  if (same && least >= 0 && (std::abs(first) <= 1 || (shapes.size() > 1 && least > kSimple))) {
    return number_expression(first);
  }
  // One shape gives too many names.
  return shapes.size() > 1 || least < 0 ? best : std::nullopt;
}

}  // namespace convlab::grader::probe
