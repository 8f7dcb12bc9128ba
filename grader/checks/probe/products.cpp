#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/wrong_index.hpp"

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

// Exactly the products with this have such a factor, at all shapes.
Rule rule_of(const std::vector<LabelledTerms>& all, const std::vector<Counted>& products,
             bool (*has)(double factor)) {
  std::vector<Samples> samples;
  for (std::size_t i = 0; i < all.size(); ++i) {
    samples.push_back({features_of(all[i].shape, products[i].labels, true), {}});
    std::ranges::transform(products[i].factors, std::back_inserter(samples.back().marked), has);
  }
  return common_rule(samples);
}

// What it usually is if exactly the products of this rule are missing.
const char* id_of(const Rule& missing) {
  using enum Rule::Relation;
  const auto is_edge = [](const Rule::Part& part) {
    const bool is_first = part.end.empty() && ((part.relation == kEqual && part.value == 0) ||
                                               (part.relation == kLess && part.value == 1));
    const bool is_last = !part.end.empty() && part.relation == kEqual && part.value == -1;
    const bool is_of_filter = part.variable == 'p' || part.variable == 'q';
    return is_of_filter && part.tile == 0 && (is_first || is_last);
  };
  const auto& parts = missing.parts;
  if (parts.empty()) return "E-terms";
  if (std::ranges::all_of(parts, is_edge) && (parts.size() == 1 || !missing.all)) {
    return "E-filter-edge";
  }
  if (parts.size() != 1 || parts.front().tile != 0) return "E-terms";
  const auto& [name, relation, value, end, variable, tile] = parts.front();
  const bool is_last = !end.empty() && value == -1;
  const bool but_one = relation == kNotEqual || relation == (is_last ? kLess : kAtLeast);
  if (variable == 'c' && but_one && is_last) return "E-last-channel";
  if (variable == 'c' && but_one && end.empty() && value == (relation == kNotEqual ? 0 : 1)) {
    return "E-first-channel";
  }
  if (variable != 't' || !is_last) return "E-terms";
  return but_one ? "E-last-tap" : relation == kEqual ? "E-stored-early" : "E-terms";
}

/// Products that count so often: those of a rule, which is empty for all of them.
struct Counts {
  Rule rule;
  double times;
};

// Whether these and, once each, all others give the numbers of a run; taken for granted of many.
bool give(const std::vector<Counts>& counts, const DenseRun& run) {
  constexpr std::int64_t kMostProducts = 100'000;
  const ConvShape& s = run.shape;
  if (s.multiply_adds() > kMostProducts) return true;
  const std::vector<Label> labels = all_products(s);
  const auto features = features_of(s, labels, true);
  std::vector<double> times(labels.size(), 1.0);
  for (const Counts& each : counts) {
    const std::vector<bool> holds = where_it_holds(each.rule, features);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = holds[i] ? each.times : times[i];
  }
  std::vector<double> sums(run.right.size(), 0.0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto at = static_cast<std::size_t>(output_index(s, labels[i]));
    sums[at] += times[i] * double{run.input[input_index(s, labels[i])]} *
                double{run.weights[weight_index(s, labels[i])]};
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double error = std::abs(double{run.answer.output[i]} - sums[i]);
    if (!run.is_unwritten(i) && !(error < kNearlyRight)) return false;
  }
  return true;
}

// The first product that does not count once.
void show_wrong(Explanation& fact, const LabelledTerms& terms, const Counted& own) {
  const auto wrong = std::ranges::find_if(own.factors, [](double each) { return each != 1.0; });
  if (wrong == own.factors.end()) return;
  const ConvShape& s = terms.shape;
  const Label& at = own.labels[static_cast<std::size_t>(wrong - own.factors.begin())];
  show_example(fact, terms,
               {at, {output_index(s, at), input_index(s, at), weight_index(s, at), *wrong}});
}

}  // namespace

std::optional<Explanation> find_counts(const std::vector<LabelledTerms>& all) {
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
  bool has_rules = true;
  const auto some = [&](const Rule& rule, const auto& has) {
    const auto whole = std::ssize(first.factors);
    const auto count = std::ranges::count_if(first.factors, has);
    const bool of_all = std::ranges::all_of(
        products, [&](const Counted& own) { return std::ranges::all_of(own.factors, has); });
    if (of_all) return std::string("all products");
    has_rules = has_rules && !rule.empty();
    return rule.empty() ? number(count) + " of " + number(whole) + " products of " +
                              to_string(all.front().shape)
                        : "the products with " + rule.text;
  };
  std::vector<std::string> causes;
  std::vector<Counts> counts;
  Explanation fact;
  fact.id = "E-terms";
  if (any(is_missing)) {
    const Rule missing = rule_of(all, products, is_missing);
    counts.push_back({missing, 0.0});
    causes.push_back(some(missing, is_missing) + " are missing");
    fact.id = id_of(missing);
  }
  if (any(is_scaled)) {
    std::set<double> factors;
    std::ranges::copy_if(first.factors, std::inserter(factors, factors.end()), is_scaled);
    counts.push_back({rule_of(all, products, is_scaled), *factors.begin()});
    has_rules = has_rules && factors.size() == 1;
    causes.push_back(some(counts.back().rule, is_scaled) + " count " +
                     (factors.size() == 1 ? real(*factors.begin()) + " times"
                                          : std::string("with another factor than 1")));
    fact.id = "E-terms";
  }
  if (causes.empty()) return std::nullopt;
  const std::string cause = joined(causes, "; ");
  const bool some_right = std::ranges::find(first.factors, 1.0) != first.factors.end();
  fact.seen = "Measured at " + shapes_text(shapes) + ": " + cause +
              (some_right ? ". All others are right." : ".");
  fact.cause = "At these sizes " + cause + ".";
  if (has_rules) fact.counts_give = [counts](const DenseRun& run) { return give(counts, run); };
  if (is_of_kind(fact, "counts")) fact.next = told("E-terms/counts").next;
  show_wrong(fact, all.front(), first);
  return fact;
}

std::optional<Explanation> find_output_rows(const std::vector<LabelledTerms>& all) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : all) {
    // A few outputs lie in many kinds of rows.
    if (std::ranges::find(terms.unwritten, true) != terms.unwritten.end()) return std::nullopt;
    shapes.push_back(terms.shape);
  }
  const IndexForm& form = form_of(IndexForm::Array::kInput);
  for (const std::string name : {"H_out", "W", "H", "(W_out - 1)", "(W_out + 1)"}) {
    const SizeExpression rows = size_expression(name);
    std::vector<std::vector<Point>> points;
    bool differs = false;
    for (const LabelledTerms& terms : all) {
      const ConvShape& s = terms.shape;
      const int length = static_cast<int>(rows.at(s));
      differs = differs || length != s.out_width();
      points.emplace_back();
      for (const Labelled& each : terms.terms) {
        Label at = each.at;
        const int place = at.h * s.out_width() + at.w;
        at.h = place / std::max(1, length), at.w = place % std::max(1, length);
        points.back().push_back({variables_of(at), each.term.pixel});
      }
    }
    const auto index = differs ? named_index(form, shapes, points) : std::nullopt;
    if (!index) continue;
    Explanation fact = index_fact(form, *index, shapes);
    fact.id = rows == size_expression("H_out") ? "E-height-width" : "E-index";
    const Explanation taken = told("E-index/output-rows", {name});
    fact.seen += taken.seen;
    const bool is_right =
        std::ranges::equal(index->factors, form.right) && index->constant == number_expression(0);
    fact.cause = taken.cause + (is_right ? "" : " " + fact.cause);
    fact.next = taken.next;
    show_wrong_product(fact, all.front());
    fact.picture.clear();  // its rows are the input's
    return fact;
  }
  return std::nullopt;
}

std::optional<Explanation> find_tile_rows(const std::vector<LabelledTerms>& all) {
  struct Lengths {
    std::int64_t filled;
    std::int64_t read;
  };
  std::vector<ConvShape> shapes;
  std::vector<std::vector<Lengths>> possible;  // with few rows several pairs are
  for (const LabelledTerms& terms : all) {
    const ConvShape& s = terms.shape;
    shapes.push_back(s);
    possible.emplace_back();
    constexpr std::int64_t kLongest = 80;
    for (std::int64_t length = s.width; length <= kLongest; ++length) {
      // The place of each pixel in the tile, as a function of its row and column.
      std::vector<Point> points;
      for (const Labelled& each : terms.terms) {
        const std::int64_t plane = std::int64_t{each.at.b} * s.in_channels + each.at.c;
        const std::int64_t pixel = each.term.pixel - plane * s.height * s.width;
        if (pixel < 0 || pixel >= std::int64_t{s.height} * s.width) return std::nullopt;
        points.push_back({{each.at.h * s.stride + each.at.p, each.at.w * s.stride + each.at.q},
                          pixel / s.width * length + pixel % s.width});
      }
      const auto index = fit(points);
      if (!index || !index->factors[0] || index->factors[1] != 1 || index->constant != 0) continue;
      if (*index->factors[0] != length) possible.back().push_back({length, *index->factors[0]});
    }
  }
  // One of the two lengths is the width of the block, the same at all shapes.
  std::vector<Lengths> found;
  for (const auto same : {&Lengths::read, &Lengths::filled}) {
    for (const Lengths& first : possible.front()) {
      if (found.size() == all.size()) break;
      found.clear();
      for (const auto& own : possible) {
        const auto fits = std::ranges::find(own, first.*same, same);
        if (fits != own.end()) found.push_back(*fits);
      }
    }
  }
  if (found.size() < all.size()) return std::nullopt;
  const auto of = [&](auto length) {
    std::vector<std::int64_t> lengths;
    for (const Lengths& each : found) lengths.push_back(each.*length);
    return expression_of(lengths, shapes).value_or(number_expression(lengths.front()));
  };
  const SizeExpression rows = of(&Lengths::filled);
  const SizeExpression read = of(&Lengths::read);
  Explanation fact = told("E-tile-rows/measured", {shapes_text(shapes), rows.text(), read.text()});
  if (rows.is_number() || read.is_number()) {
    fact.seen += " Numbers are those of the first shape.";
  }
  show_wrong_product(fact, all.front());
  return fact;
}

std::optional<Explanation> find_factors(Program& program) {
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
    const Rule rule = common_rule({{features_of(s, labels, true), wrong}});
    const std::int64_t weight = weight_index(s, labels[i]);
    const std::int64_t pixel = input_index(s, labels[i]);
    Explanation fact =
        told(is_transform ? "E-terms/transform" : "E-terms/one-by-one",
             {to_string(s), output_text(labels[i]), weight_text(s, weight), pixel_text(s, pixel),
              rule.empty() ? "Products" : "Exactly the products with " + rule.text,
              parts[i].empty() ? "nothing" : joined(parts[i], ", ")});
    fact.product = watched(s, {labels[i], {.pixel = pixel, .weight = weight}});
    return fact;
  }
  return std::nullopt;
}

namespace {

constexpr int kSize = 32;
using Matrix = std::vector<double>;  // row-major

std::size_t at(int row, int column) {
  return static_cast<std::size_t>(row * kSize + column);
}

Matrix matrix_of(const Numbers& numbers) {
  return {numbers.begin(), numbers.begin() + numbers.size()};
}

// @param place  where the element of a row and a column comes from
template <class Place>
Matrix permuted(const Matrix& from, const Place& place) {
  Matrix to(from.size());
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) to[at(row, column)] = from[place(row, column)];
  }
  return to;
}

// Rows and columns exchanged in each tile × tile part; 1: as it is.
Matrix with_tiles_transposed(const Matrix& from, int tile) {
  return permuted(from, [tile](int row, int column) {
    return at(row / tile * tile + column % tile, column / tile * tile + row % tile);
  });
}

// Neighbouring groups of rows, or of columns, exchanged, as by two registers of a fragment.
Matrix exchanged(const Matrix& from, int row_group, int column_group) {
  return permuted(from,
                  [=](int row, int column) { return at(row ^ row_group, column ^ column_group); });
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.size(), 0.0);
  for (int row = 0; row < kSize; ++row) {
    for (int k = 0; k < kSize; ++k) {
      for (int column = 0; column < kSize; ++column) {
        result[at(row, column)] += a[at(row, k)] * b[at(k, column)];
      }
    }
  }
  return result;
}

std::string tiles_text(int tile) {
  return number(tile) + " × " + number(tile);
}

}  // namespace

std::optional<Explanation> find_matrix_mistake(Program& program) {
  const DenseRun run = run_dense(program, {1, kSize, kSize, 1, kSize, 1, 1});
  if (!run.gives_wrong()) return std::nullopt;
  const Matrix weights = matrix_of(run.weights);
  const Matrix input = matrix_of(run.input);
  const Matrix got(run.answer.output.begin(), run.answer.output.end());
  constexpr std::array kTiles = {1, 8, 16, kSize};
  for (const int of_result : kTiles) {
    for (const int of_weights : kTiles) {
      for (const int of_input : kTiles) {
        const Matrix result =
            with_tiles_transposed(product(with_tiles_transposed(weights, of_weights),
                                          with_tiles_transposed(input, of_input)),
                                  of_result);
        if (result != got) continue;
        if (of_result > 1 && of_result == of_weights && of_result == of_input) {
          return told("E-index/factors-exchanged", {tiles_text(of_result)});
        }
        std::vector<std::string> parts;
        for (const auto& [tile, matrix] : {std::pair{of_weights, "the weights"},
                                           {of_input, "the unrolled input"},
                                           {of_result, "the result"}}) {
          if (tile > 1) parts.push_back(tiles_text(tile) + " part of " + matrix);
        }
        Explanation fact = told("E-tile-transposed/measured", {joined(parts, " and in each ")});
        // Elements (0, 1) and (1, 0) are exchanged.
        fact.product = WrongProduct{.shape = run.shape, .output = 1};
        if (of_result <= 1 && of_input > 1) {
          fact.product->weight = 0, fact.product->pixel = 1, fact.product->other_pixel = kSize;
        } else if (of_result <= 1) {
          fact.product->output = 0;
          fact.product->weight = 1, fact.product->pixel = kSize, fact.product->other_weight = kSize;
        }
        return fact;
      }
    }
  }
  const Matrix right = product(weights, input);
  for (int group = 1; group < kSize; group *= 2) {
    const char* what = product(weights, exchanged(input, group, 0)) == got ? "taps of one factor"
                       : exchanged(right, group, 0) == got                 ? "maps of the result"
                       : exchanged(right, 0, group) == got                 ? "columns of the result"
                                                                           : nullptr;
    if (what == nullptr) continue;
    const std::string groups = group == 1 ? "" : "groups of " + number(group) + " ";
    return told("E-index/neighbours-exchanged", {groups + what});
  }
  return std::nullopt;
}

std::optional<Explanation> find_unused_array(Program& program, const DenseRun& run) {
  // Infinity hides the numbers behind it.
  const auto is_finite = [](float each) { return std::isfinite(each); };
  if (!std::ranges::all_of(run.answer.output, is_finite)) return std::nullopt;
  const DenseRun other = run_dense(program, run.shape, 4);
  std::vector<std::string> unused;
  for (const bool input : {true, false}) {
    const Answer mixed = program.run(run.shape, input ? other.input : run.input,
                                     input ? run.weights : other.weights);
    if (mixed.kind == Answer::Kind::kNumbers && mixed.output == run.answer.output) {
      unused.push_back(input ? "the input" : "the weights");
    }
  }
  if (unused.empty()) return std::nullopt;
  Explanation fact = told("E-terms/unused-array", {joined(unused, " or "), to_string(run.shape)});
  fact.seen += neighbourhood(run);
  fact.product = WrongProduct{.shape = run.shape, .pixel = 0, .weight = 0, .factor = 0.0};
  return fact;
}

}  // namespace convlab::grader::probe
