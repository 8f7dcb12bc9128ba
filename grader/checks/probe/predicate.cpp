#include <algorithm>
#include <set>
#include <utility>

#include "grader/checks/probe/finders.hpp"

namespace convlab::grader::probe {

namespace {

using Bits = std::vector<std::uint64_t>;

struct Test {
  Rule::Part part;
  std::string text;
  int cost = 0;
  Bits bits{};
};

constexpr std::size_t kWord = 64;

void set(Bits& bits, std::size_t i) {
  bits[i / kWord] |= std::uint64_t{1} << i % kWord;
}

using Holds = bool(std::int64_t value, std::int64_t bound);

using enum Rule::Relation;

Holds* holds(Rule::Relation relation) {
  if (relation == kAtLeast) return [](auto value, auto bound) { return value >= bound; };
  if (relation == kLess) return [](auto value, auto bound) { return value < bound; };
  if (relation == kNotEqual) return [](auto value, auto bound) { return value != bound; };
  return [](auto value, auto bound) { return value == bound; };
}

std::string text_of(const Feature& feature, Rule::Relation relation, std::int64_t value) {
  if (relation == kFlag) return value == 0 ? feature.otherwise : feature.name;
  const std::string text = feature.name + (relation == kAtLeast    ? " ≥ "
                                           : relation == kLess     ? " < "
                                           : relation == kNotEqual ? " ≠ "
                                                                   : " = ");
  if (feature.end.empty()) return text + std::to_string(value);
  const std::string by =
      value == 0 ? "" : (value < 0 ? " - " : " + ") + std::to_string(std::abs(value));
  return text + feature.end + by;
}

// Tests of one feature, without those that always or never hold.
std::vector<Test> tests_of(const Feature& feature, std::size_t count) {
  std::vector<Test> tests;
  const std::set<std::int64_t> values(feature.values.begin(), feature.values.end());
  const auto add = [&](Rule::Relation relation, std::int64_t value, int cost) {
    Test test{{feature.name, relation, value, feature.end, feature.variable, feature.tile},
              text_of(feature, relation, value),
              feature.cost + cost,
              Bits((count + kWord - 1) / kWord)};
    const auto test_holds = holds(relation);
    for (std::size_t i = 0; i < count; ++i) {
      if (test_holds(feature.values[i], value)) set(test.bits, i);
    }
    tests.push_back(std::move(test));
  };
  constexpr std::size_t kAtEachEnd = 20;
  if (values.size() < 2) return tests;
  if (feature.is_flag) {
    add(kFlag, 1, 0);
    if (!feature.otherwise.empty()) add(kFlag, 0, 1);
    return tests;
  }
  std::size_t tried = 0;
  for (const std::int64_t value : values) {
    if (++tried > kAtEachEnd && tried + kAtEachEnd <= values.size()) continue;
    const bool is_first = value == *values.begin();
    if (!feature.only_bounds || is_first) add(kEqual, value, 0);
    if (!is_first) add(kAtLeast, value, 0);
    if (!is_first) add(kLess, value, 0);
    if (values.size() > 2 && !feature.only_bounds) add(kNotEqual, value, 1);
  }
  return tests;
}

}  // namespace

std::vector<Rule> find_rules(const std::vector<Feature>& features, const std::vector<bool>& marked,
                             std::size_t most) {
  const std::size_t count = marked.size();
  Bits wanted((count + kWord - 1) / kWord);
  for (std::size_t i = 0; i < count; ++i) {
    if (marked[i]) set(wanted, i);
  }
  std::vector<Test> tests;
  for (const Feature& feature : features) {
    for (Test& test : tests_of(feature, count)) tests.push_back(std::move(test));
  }
  std::vector<Rule> rules;
  std::vector<const Test*> wider;     // hold for all marked samples
  std::vector<const Test*> narrower;  // hold for marked samples only
  for (const Test& test : tests) {
    bool covers = true;
    bool within = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      covers = covers && (wanted[i] & ~test.bits[i]) == 0;
      within = within && (test.bits[i] & ~wanted[i]) == 0;
    }
    if (covers && within) rules.push_back({test.text, test.cost, {test.part}});
    if (covers) wider.push_back(&test);
    if (within) narrower.push_back(&test);
  }
  std::ranges::stable_sort(wider, {}, &Test::cost);
  std::ranges::stable_sort(narrower, {}, &Test::cost);
  constexpr int kPair = 3;
  Bits both(wanted.size());
  const auto try_pairs = [&](const std::vector<const Test*>& from, const char* word, bool all) {
    constexpr std::size_t kMostPairs = 400;
    for (std::size_t a = 0; a < std::min(from.size(), kMostPairs); ++a) {
      for (std::size_t b = a + 1; b < std::min(from.size(), kMostPairs); ++b) {
        // "w = 6 and w ≥ 2": one value, and by chance.
        const auto narrows = [](const Test* value, const Test* test) {
          const Rule::Part& own = value->part;
          const bool is_part_of_it =
              own.variable != 0 && own.variable == test->part.variable && own.tile == 0;
          return own.relation == kEqual && own.end.empty() &&
                 (is_part_of_it || own.name == test->part.name);
        };
        if (all && (narrows(from[a], from[b]) || narrows(from[b], from[a]))) continue;
        for (std::size_t i = 0; i < both.size(); ++i) {
          both[i] = all ? from[a]->bits[i] & from[b]->bits[i] : from[a]->bits[i] | from[b]->bits[i];
        }
        if (both == wanted) {
          rules.push_back({from[a]->text + word + from[b]->text,
                           from[a]->cost + from[b]->cost + kPair,
                           {from[a]->part, from[b]->part},
                           all});
        }
      }
    }
  };
  try_pairs(wider, " and ", true);
  try_pairs(narrower, " or ", false);
  std::ranges::stable_sort(rules, {}, &Rule::cost);
  if (rules.size() > most) rules.resize(most);
  return rules;
}

std::vector<bool> where_it_holds(const Rule& rule, const std::vector<Feature>& features) {
  std::vector<bool> where(features.empty() ? 0 : features.front().values.size(), rule.all);
  for (const Rule::Part& part : rule.parts) {
    const auto feature = std::ranges::find_if(features, [&](const Feature& each) {
      return each.name == part.name && each.end == part.end;
    });
    for (std::size_t i = 0; i < where.size(); ++i) {
      // There is no incomplete tile where its feature is missing.
      const std::int64_t value = feature == features.end() ? 0 : feature->values[i];
      const bool own = holds(part.relation)(value, part.value);
      where[i] = rule.all ? where[i] && own : where[i] || own;
    }
  }
  return where;
}

namespace {

/// Features of these samples; `value` gives the number of a sample.
struct FeatureList {
  const std::vector<Label>& labels;
  std::vector<Feature> all{};

  // Whether a sample lies in the last tile that its size does not fill.
  void add_last_tiles(const Feature& of, int size, const auto& value) {
    for (const int tile : {16, 8, 32, 4}) {  // the usual one first
      if (size % tile == 0) continue;
      const std::string place = " the last, incomplete " + number(tile);
      Feature last{.name = of.name + " in" + place,
                   .is_flag = true,
                   .otherwise = of.name + " before" + place,
                   .cost = of.cost + 3,
                   .variable = of.variable};
      Feature rest{.name = of.name + " behind the last whole " + number(tile),
                   .is_flag = true,
                   .cost = of.cost + 4,
                   .variable = of.variable};
      for (const Label& at : labels) {
        last.values.push_back(value(at) / tile == size / tile ? 1 : 0);
        rest.values.push_back(size >= tile ? last.values.back() : 0);
      }
      all.push_back(std::move(last));
      all.push_back(std::move(rest));
    }
  }

  // @param end  what the size is called; empty: it is not counted from its end
  void add(char variable, const std::string& name, int size, const char* end, int cost,
           const auto& value) {
    const Feature named{.name = name, .cost = cost, .variable = variable};
    Feature from_begin = named;
    Feature from_end{.name = name, .end = end, .cost = cost + 1, .variable = variable};
    for (const Label& at : labels) {
      from_begin.values.push_back(value(at));
      from_end.values.push_back(value(at) - size);
    }
    all.push_back(std::move(from_begin));
    if (*end == 0) return;
    all.push_back(std::move(from_end));
    add_last_tiles(named, size, value);
  }

  void add_rests(char variable, const std::string& name, int cost, const std::vector<int>& tiles,
                 const auto& value) {
    for (const int tile : tiles) {
      add(variable, name + " % " + number(tile), 0, "", cost,
          [&](const Label& at) { return value(at) % tile; });
      all.back().tile = tile;
    }
  }
};

}  // namespace

std::vector<Feature> features_of(const ConvShape& s, const std::vector<Label>& labels, bool taps) {
  FeatureList list{labels};
  list.add('b', "b", s.batch, "B", 1, [](const Label& at) { return at.b; });
  list.add('m', "m", s.out_channels, "M", 1, [](const Label& at) { return at.m; });
  list.add('h', "h", s.out_height(), "H_out", 1, [](const Label& at) { return at.h; });
  list.add('w', "w", s.out_width(), "W_out", 1, [](const Label& at) { return at.w; });
  list.add(0, "the number of the output", static_cast<int>(s.output_size()), "", 3,
           [&s](const Label& at) { return static_cast<int>(output_index(s, at)); });
  const auto in_map = [&s](const Label& at) { return at.h * s.out_width() + at.w; };
  list.add('o', "h·W_out + w", s.out_height() * s.out_width(), "H_out·W_out", 3, in_map);
  if (taps) {
    list.add('c', "c", s.in_channels, "C", 1, [](const Label& at) { return at.c; });
    list.add('p', "p", s.kernel, "K", 1, [](const Label& at) { return at.p; });
    list.add('q', "q", s.kernel, "K", 1, [](const Label& at) { return at.q; });
    list.add_rests('c', "c", 3, {2, 4, 8, 16, 32}, [](const Label& at) { return at.c; });
    const auto flat = [&s](const Label& at) { return (at.c * s.kernel + at.p) * s.kernel + at.q; };
    list.add('t', "the number of the tap", s.taps(), "C·K·K", 3, flat);
    list.add(0, "the number of the weight", static_cast<int>(s.weights_size()), "", 3,
             [&s](const Label& at) { return static_cast<int>(weight_index(s, at)); });
    const auto row = [&s](const Label& at) { return at.h * s.stride + at.p; };
    const auto column = [&s](const Label& at) { return at.w * s.stride + at.q; };
    // A guard may compare with the output's size, or with that of the other direction.
    list.add(0, "the row of the pixel", s.height, "H", 3, row);
    list.add(0, "the column of the pixel", s.width, "W", 3, column);
    list.add(0, "the row of the pixel", s.out_height(), "H_out", 4, row);
    list.add(0, "the column of the pixel", s.out_width(), "W_out", 4, column);
    list.add(0, "the row of the pixel", s.width, "W", 5, row);
    list.add(0, "the column of the pixel", s.height, "H", 5, column);
    list.add_rests('t', "the number of the tap", 4, {4, 8, 16, 32, 64}, flat);
  }
  const std::vector<int> tiles = {2, 4, 8, 16, 32, 64};
  list.add_rests('o', "(h·W_out + w)", 4, tiles, in_map);
  list.add_rests(
      'n', "the column of the product, (b·H_out + h)·W_out + w,", 5, tiles,
      [&s](const Label& at) { return (at.b * s.out_height() + at.h) * s.out_width() + at.w; });
  list.add_rests('m', "m", 3, tiles, [](const Label& at) { return at.m; });
  list.add_rests('h', "h", 3, tiles, [](const Label& at) { return at.h; });
  list.add_rests('w', "w", 3, tiles, [](const Label& at) { return at.w; });
  return list.all;
}

Rule common_rule(const std::vector<Samples>& all) {
  constexpr std::size_t kMany = 500;
  const auto has = [](const Samples& samples, bool mark) {
    return std::ranges::find(samples.marked, mark) != samples.marked.end();
  };
  if (std::ranges::none_of(all, [&](const Samples& each) { return has(each, false); })) return {};
  // Where all are marked, a variable may have one value only, and no rule can be made of it.
  const bool some_partly = std::ranges::any_of(
      all, [&](const Samples& each) { return has(each, true) && has(each, false); });
  std::optional<std::vector<Rule>> rules;
  for (const Samples& each : all) {
    if (!has(each, true) || (some_partly && !has(each, false))) continue;
    std::vector<Rule> own = find_rules(each.features, each.marked, kMany);
    if (!rules) {
      rules = std::move(own);
      continue;
    }
    std::erase_if(*rules, [&](const Rule& rule) {
      return std::ranges::find(own, rule.text, &Rule::text) == own.end();
    });
  }
  if (!rules) return {};
  const auto rule = std::ranges::find_if(*rules, [&](const Rule& rule_of_all) {
    return std::ranges::all_of(all, [&](const Samples& each) {
      return where_it_holds(rule_of_all, each.features) == each.marked;
    });
  });
  return rule == rules->end() ? Rule() : *rule;
}

}  // namespace convlab::grader::probe
