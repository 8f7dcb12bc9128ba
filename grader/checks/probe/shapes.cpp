#include <algorithm>
#include <array>
#include <random>

#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/wrong_index.hpp"

namespace convlab::grader::probe {

namespace {

using Size = int ConvShape::*;

constexpr std::array<Size, 7> kSizes = {
    &ConvShape::batch,  &ConvShape::out_channels, &ConvShape::in_channels, &ConvShape::kernel,
    &ConvShape::stride, &ConvShape::height,       &ConvShape::width};

constexpr std::int64_t kUsualWork = 200'000;   // multiply-adds of one run
constexpr std::int64_t kMostWork = 5'000'000;  // of the shape that is given

bool is_possible(const ConvShape& s, std::int64_t most = kUsualWork) {
  return s.kernel <= std::min(s.height, s.width) && s.multiply_adds() <= most;
}

/// What happened at each shape so far.
class Tried {
  static constexpr std::int64_t kFew = 50;
  static constexpr float kUnit = 0.25F;  // whole numbers would hide a sum that is an int

 public:
  explicit Tried(Program& program) : program_(program) {}

  bool fails(const ConvShape& shape) {
    const auto known = std::ranges::find(shapes_, shape);
    if (known != shapes_.end()) return fails_[static_cast<std::size_t>(known - shapes_.begin())];
    // A small shape may be right by luck.
    const bool small = std::min(shape.output_size(), shape.weights_size()) < kFew;
    bool failed = false;
    for (std::uint64_t seed = 1; seed <= (small ? 3 : 1) && !failed; ++seed) {
      failed = !run_dense(program_, shape, seed, kUnit).is_right();
    }
    if (program_.is_over()) return failed;  // perhaps it did not run
    shapes_.push_back(shape);
    fails_.push_back(failed);
    return failed;
  }

  [[nodiscard]] bool knows(const ConvShape& shape) const {
    return std::ranges::find(shapes_, shape) != shapes_.end();
  }
  [[nodiscard]] const std::vector<ConvShape>& shapes() const { return shapes_; }
  [[nodiscard]] const std::vector<bool>& failed() const { return fails_; }

 private:
  Program& program_;
  std::vector<ConvShape> shapes_{};
  std::vector<bool> fails_{};
};

ConvShape shrunk(Tried& tried, ConvShape shape, const Program& program) {
  for (bool smaller = true; smaller && !program.is_over();) {
    smaller = false;
    for (const Size size : kSizes) {
      for (const int to : {1, 2, 3, shape.*size / 2, shape.*size - 1}) {
        if (to < 1 || to >= shape.*size) continue;
        ConvShape next = shape;
        next.*size = to;
        if (!is_possible(next, shape.multiply_adds()) || !tried.fails(next)) continue;
        if (program.is_over()) return shape;  // then nothing ran
        shape = next;
        smaller = true;
        break;
      }
    }
  }
  return shape;
}

bool may_shrink(Tried& tried, const ConvShape& shape, const Program& program) {
  return std::ranges::any_of(kSizes, [&](const Size size) {
    ConvShape next = shape;
    next.*size -= 1;
    return next.*size > 0 && next.kernel <= std::min(next.height, next.width) &&
           (tried.fails(next) || program.is_over());
  });
}

std::vector<Feature> features_of(const std::vector<ConvShape>& shapes) {
  std::vector<Feature> all;
  char variable = 0;
  const auto add = [&](const std::string& name, int cost, bool flag, const auto& value) {
    Feature feature{
        .name = name, .only_bounds = true, .is_flag = flag, .cost = cost, .variable = variable};
    for (const ConvShape& s : shapes) feature.values.push_back(value(s));
    all.push_back(std::move(feature));
  };
  struct Named {
    const char* name;
    int cost;
    bool divides;
    SizeExpression formula = size_expression(name);
  };
  static const std::vector<Named> sizes = {
      {"B", 1, true},
      {"M", 1, true},
      {"C", 1, true},
      {"H", 2, true},
      {"W", 2, true},
      {"K", 1, true},
      {"S", 1, false},
      {"H_out", 1, true},
      {"W_out", 1, true},
      {"C·K·K", 2, true},
      {"H_out·W_out", 2, true},
      {"B·H_out·W_out", 3, true},
      {"B·M", 3, false},
      {"M·C", 3, false},
      {"the number of outputs", 3, true, size_expression("B·M·H_out·W_out")},
      {"the number of weights", 3, false, size_expression("M·C·K·K")}};
  for (const auto& [name, cost, divides, formula] : sizes) {
    const auto value = [&of = formula](const ConvShape& s) { return of.at(s); };
    ++variable;
    add(name, cost, false, value);
    for (const int by : {2, 4, 8, 16, 32}) {
      if (!divides) break;
      add(std::string(name) + " is no multiple of " + std::to_string(by), cost + 1, true,
          [&](const ConvShape& s) { return value(s) % by != 0 ? 1 : 0; });
    }
  }
  variable = 0;
  for (const int by : {8, 16, 32}) {
    add("H_out or W_out is no multiple of " + std::to_string(by), 3, true,
        [&](const ConvShape& s) -> std::int64_t {
          return s.out_height() % by != 0 || s.out_width() % by != 0 ? 1 : 0;
        });
  }
  add("H ≠ W", 2, true, [](const ConvShape& s) { return s.height != s.width ? 1 : 0; });
  add("H > W", 3, true, [](const ConvShape& s) { return s.height > s.width ? 1 : 0; });
  add("H < W", 3, true, [](const ConvShape& s) { return s.height < s.width ? 1 : 0; });
  add("H_out ≠ W_out", 3, true,
      [](const ConvShape& s) { return s.out_height() != s.out_width() ? 1 : 0; });
  add("S > K", 3, true, [](const ConvShape& s) { return s.stride > s.kernel ? 1 : 0; });
  return all;
}

// Just outside the bounds of a rule: "C·K·K ≥ 18" may be "≥ 17" where no shape had 17.
std::vector<ConvShape> at_edge(const Rule& rule, const ConvShape& around) {
  constexpr int kLargest = 40;
  constexpr std::size_t kEnough = 2;
  std::vector<ConvShape> found;
  for (const Rule::Part& part : rule.parts) {
    if (part.relation != Rule::Relation::kAtLeast && part.relation != Rule::Relation::kLess) {
      continue;
    }
    std::size_t enough = found.size() + kEnough;
    for (const Size size : kSizes) {
      for (int to = 1; to <= kLargest && found.size() < enough; ++to) {
        // With K = 1 the products of sizes take every value.
        for (const int kernel : {around.kernel, 1}) {
          ConvShape next = around;
          next.kernel = kernel;
          next.*size = to;
          if (!is_possible(next)) continue;
          const auto features = features_of({next});
          const auto own = std::ranges::find(features, part.name, &Feature::name);
          if (own != features.end() && own->values.front() == part.value - 1) {
            found.push_back(next);
            break;
          }
        }
      }
    }
  }
  return found;
}

ConvShape drawn(std::mt19937_64& engine) {
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  // Often small, sometimes beyond a tile.
  const auto size = [&] { return engine() % 3 == 0 ? draw(1, 20) : draw(1, 6); };
  ConvShape s;
  s.batch = draw(1, 5);
  s.out_channels = size();
  s.in_channels = draw(1, 6);
  s.kernel = draw(1, 5);
  s.stride = engine() % 2 == 0 ? 1 : draw(1, 3);
  s.height = s.kernel + size() - 1;
  s.width = engine() % 4 == 0 ? s.height : s.kernel + size() - 1;
  if (engine() % 4 == 0) s.width += 16;
  if (engine() % 5 == 0) {  // whole tiles
    constexpr int kTile = 16;
    s.height = (kTile * draw(1, 2) - 1) * s.stride + s.kernel;
    s.width = (kTile * draw(1, 2) - 1) * s.stride + s.kernel;
  }
  return s;
}

}  // namespace

std::string case_text(const ConvShape& s) {
  std::string text;
  for (const int size :
       {s.batch, s.out_channels, s.in_channels, s.height, s.width, s.kernel, s.stride}) {
    text += (text.empty() ? "" : ",") + std::to_string(size);
  }
  return text;
}

std::optional<ConvShape> smallest_failing(Program& program, const ConvShape& failing) {
  Tried tried(program);
  if (!is_possible(failing, kMostWork) || !tried.fails(failing)) return std::nullopt;
  return shrunk(tried, failing, program);
}

namespace {

void try_out(Tried& tried, const Program& program, const ConvShape& next) {
  if (is_possible(next) && !program.is_over() && !tried.knows(next)) tried.fails(next);
}

void try_sizes(Tried& tried, const Program& program, const ConvShape& smallest) {
  // One size at a time. The last three tell a tile of 4, 8 or 16 from one of twice as much.
  for (const Size size : kSizes) {
    const bool is_small = size == &ConvShape::kernel || size == &ConvShape::stride;
    const bool is_side = size == &ConvShape::height || size == &ConvShape::width;
    for (const int to : {2, 3, 5, 8, 16, 17, 12, 24, 48}) {
      ConvShape next = smallest;
      next.*size = is_side && to % 12 == 0 ? (to - 1) * next.stride + next.kernel : to;
      next.height = std::max(next.height, next.kernel);
      next.width = std::max(next.width, next.kernel);
      if (!is_small || to <= 5) try_out(tried, program, next);
    }
  }
  for (const int tile : {8, 16, 32}) {
    ConvShape next = smallest;
    next.height = (tile - 1) * next.stride + next.kernel;
    next.width = (tile - 1) * next.stride + next.kernel;
    try_out(tried, program, next);
  }
}

// Fresh shapes, some on which the two best rules disagree, others drawn.
void try_fresh(Tried& tried, const Program& program, const std::vector<Rule>& rules,
               std::mt19937_64& engine) {
  constexpr int kFresh = 12;
  int fresh = 0;
  int disputed = 0;
  for (int draws = 0; fresh < kFresh && draws < 50 * kFresh && !program.is_over(); ++draws) {
    const ConvShape shape = drawn(engine);
    if (!is_possible(shape) || tried.knows(shape)) continue;
    if (rules.size() == 2 && disputed < kFresh / 2 && draws < 25 * kFresh) {
      const auto own = features_of({shape});
      if (where_it_holds(rules[0], own) == where_it_holds(rules[1], own)) continue;
      ++disputed;
    }
    tried.fails(shape);
    ++fresh;
  }
}

// Whether a rule holds beyond the blocks, tiles and grids of most kernels, too: one size is large,
// or both sides of an image. A shape where it does not is one that the next rule must fit.
bool holds_for_large(Tried& tried, const Program& program, const Rule& rule) {
  constexpr int kLarge = 70;
  std::vector<ConvShape> shapes = {{.height = kLarge, .width = kLarge}};
  for (const Size size : kSizes) {
    if (size == &ConvShape::kernel || size == &ConvShape::stride) continue;
    shapes.emplace_back().*size = kLarge;
  }
  // Beyond the filters and strides that are drawn, too.
  constexpr int kSide = 13;
  for (const int kernel : {6, 7, 8, 11}) {
    shapes.push_back({.in_channels = 2, .height = kSide, .width = kSide, .kernel = kernel});
  }
  for (const int stride : {4, 5, 7}) {
    shapes.push_back({.height = kSide, .width = kSide, .kernel = 3, .stride = stride});
  }
  return std::ranges::all_of(shapes, [&](const ConvShape& shape) {
    return program.is_over() ||
           tried.fails(shape) == where_it_holds(rule, features_of({shape})).front();
  });
}

// Whether no shape fails whose stride is 1, of enough that were tried.
bool needs_stride(const Tried& tried) {
  constexpr int kEnough = 10;
  int without_stride = 0;
  bool fails_without = false;
  for (std::size_t i = 0; i < tried.shapes().size(); ++i) {
    if (tried.shapes()[i].stride > 1) continue;
    ++without_stride;
    fails_without |= tried.failed()[i];
  }
  return !fails_without && without_stride >= kEnough;
}

}  // namespace

std::optional<ShapeStudy> study_shapes(Program& program, const ConvShape& failing) {
  Tried tried(program);
  ShapeStudy study;
  if (!is_possible(failing, kMostWork) || !tried.fails(failing)) return std::nullopt;
  study.smallest = shrunk(tried, failing, program);
  study.may_shrink = program.is_over() || may_shrink(tried, study.smallest, program);
  try_sizes(tried, program, study.smallest);
  std::mt19937_64 engine(11);
  constexpr int kRounds = 5;
  constexpr int kMostCost = 8;
  constexpr std::size_t kMany = 40;
  std::string last;
  int confirmed = 0;
  for (int round = 0; round < kRounds && !program.is_over(); ++round) {
    const std::size_t before = tried.shapes().size();
    const auto features = features_of(tried.shapes());
    auto rules = find_rules(features, tried.failed(), kMany);
    // Two bounds joined by "or" fit nearly everything.
    std::erase_if(rules, [](const Rule& rule) { return !rule.all; });
    if (rules.size() > 2) rules.resize(2);
    const bool has_rule = !rules.empty() && rules.front().cost <= kMostCost;
    if (has_rule) {
      for (const ConvShape& shape : at_edge(rules.front(), study.smallest)) {
        try_out(tried, program, shape);
      }
    }
    try_fresh(tried, program, rules, engine);
    if (!has_rule) continue;
    int holds = 0;
    int refuted = 0;
    for (std::size_t i = before; i < tried.shapes().size(); ++i) {
      const bool predicted =
          where_it_holds(rules.front(), features_of({tried.shapes()[i]})).front();
      refuted += predicted != tried.failed()[i] ? 1 : 0;
      holds += predicted ? 1 : 0;
    }
    const int all = static_cast<int>(tried.shapes().size() - before);
    constexpr int kFew = 2;
    const Rule& best = rules.front();
    const bool good = refuted == 0 && holds >= kFew && all - holds >= kFew;
    confirmed = !good ? 0 : best.text == last ? confirmed + all : all;
    last = best.text;
    // A rule of two parts must hold twice.
    if (good && (best.parts.size() == 1 || confirmed > all) &&
        holds_for_large(tried, program, best)) {
      study.rule = best.text;
      study.tried = static_cast<int>(tried.shapes().size());
      break;
    }
  }
  study.needs_stride = needs_stride(tried);
  return study;
}

}  // namespace convlab::grader::probe
