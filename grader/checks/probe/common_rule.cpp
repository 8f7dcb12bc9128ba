#include "grader/checks/probe/common_rule.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"

namespace convlab::grader::probe {

std::vector<Feature> features_of(const ConvShape& s, const std::vector<Label>& labels, bool taps) {
  std::vector<Feature> all;
  const auto add = [&](const std::string& name, int size, const char* end, int cost,
                       const auto& value) {
    Feature from_begin{.name = name, .cost = cost};
    Feature from_end{.name = name, .end = end, .cost = cost + 1};
    for (const Label& at : labels) {
      from_begin.values.push_back(value(at));
      from_end.values.push_back(value(at) - size);
    }
    all.push_back(std::move(from_begin));
    if (*end == 0) return;
    all.push_back(std::move(from_end));
    for (const int tile : {16, 8, 32, 4}) {  // the usual one first
      if (size % tile == 0) continue;
      Feature last{.name = name + " in the last, incomplete " + number(tile),
                   .is_flag = true,
                   .cost = cost + 3};
      Feature rest{.name = name + " behind the last whole " + number(tile),
                   .is_flag = true,
                   .cost = cost + 4};
      for (const Label& at : labels) {
        last.values.push_back(value(at) / tile == size / tile ? 1 : 0);
        rest.values.push_back(size >= tile ? last.values.back() : 0);
      }
      all.push_back(std::move(last));
      all.push_back(std::move(rest));
    }
  };
  add("b", s.batch, "B", 1, [](const Label& at) { return at.b; });
  add("m", s.out_channels, "M", 1, [](const Label& at) { return at.m; });
  add("h", s.out_height(), "H_out", 1, [](const Label& at) { return at.h; });
  add("w", s.out_width(), "W_out", 1, [](const Label& at) { return at.w; });
  add("the number of the output", static_cast<int>(s.output_size()), "", 3,
      [&s](const Label& at) { return static_cast<int>(output_index(s, at)); });
  add("h·W_out + w", s.out_height() * s.out_width(), "H_out·W_out", 3,
      [&s](const Label& at) { return at.h * s.out_width() + at.w; });
  if (taps) {
    add("c", s.in_channels, "C", 1, [](const Label& at) { return at.c; });
    add("p", s.kernel, "K", 1, [](const Label& at) { return at.p; });
    add("q", s.kernel, "K", 1, [](const Label& at) { return at.q; });
    for (const int tile : {2, 4, 8, 16, 32}) {
      add("c % " + number(tile), 0, "", 3, [tile](const Label& at) { return at.c % tile; });
    }
    const auto flat = [&s](const Label& at) { return (at.c * s.kernel + at.p) * s.kernel + at.q; };
    add("the number of the tap", s.taps(), "C·K·K", 3, flat);
    add("the number of the weight", static_cast<int>(s.weights_size()), "", 3,
        [&s](const Label& at) { return static_cast<int>(weight_index(s, at)); });
    add("the row of the pixel", s.height, "H", 3,
        [&s](const Label& at) { return at.h * s.stride + at.p; });
    add("the column of the pixel", s.width, "W", 3,
        [&s](const Label& at) { return at.w * s.stride + at.q; });
    // A guard by the size of the output where the input's belongs.
    add("the row of the pixel", s.out_height(), "H_out", 4,
        [&s](const Label& at) { return at.h * s.stride + at.p; });
    add("the column of the pixel", s.out_width(), "W_out", 4,
        [&s](const Label& at) { return at.w * s.stride + at.q; });
    for (const int tile : {4, 8, 16, 32, 64}) {
      add("the number of the tap % " + number(tile), 0, "", 4,
          [&, tile](const Label& at) { return flat(at) % tile; });
    }
  }
  for (const int tile : {2, 4, 8, 16, 32, 64}) {
    const std::string by = " % " + number(tile);
    add("(h·W_out + w)" + by, 0, "", 4,
        [&s, tile](const Label& at) { return (at.h * s.out_width() + at.w) % tile; });
    add("the column of the product, (b·H_out + h)·W_out + w," + by, 0, "", 5,
        [&s, tile](const Label& at) {
          return ((at.b * s.out_height() + at.h) * s.out_width() + at.w) % tile;
        });
    add("m" + by, 0, "", 3, [tile](const Label& at) { return at.m % tile; });
    add("h" + by, 0, "", 3, [tile](const Label& at) { return at.h % tile; });
    add("w" + by, 0, "", 3, [tile](const Label& at) { return at.w % tile; });
  }
  return all;
}

std::string common_rule(const std::vector<std::vector<Feature>>& features,
                        const std::vector<std::vector<bool>>& marked) {
  constexpr std::size_t kMany = 500;
  const auto has = [&](std::size_t i, bool mark) {
    return std::ranges::find(marked[i], mark) != marked[i].end();
  };
  // Where all are marked, a variable may have one value only, and no rule can be made of it.
  bool some_partly = false;
  for (std::size_t i = 0; i < features.size(); ++i) {
    some_partly = some_partly || (has(i, true) && has(i, false));
  }
  std::optional<std::vector<Rule>> rules;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!has(i, true) || (some_partly && !has(i, false))) continue;
    std::vector<Rule> own = find_rules(features[i], marked[i], kMany);
    if (!rules) {
      rules = std::move(own);
      continue;
    }
    std::erase_if(*rules, [&](const Rule& rule) {
      return std::ranges::find(own, rule.text, &Rule::text) == own.end();
    });
  }
  if (!rules) return {};
  const auto rule = std::ranges::find_if(*rules, [&](const Rule& each) {
    for (std::size_t i = 0; i < features.size(); ++i) {
      if (where_it_holds(each, features[i]) != marked[i]) return false;
    }
    return true;
  });
  return rule == rules->end() ? "" : rule->text;
}

}  // namespace convlab::grader::probe
