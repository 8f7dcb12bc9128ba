#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <utility>

#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/wrong_index.hpp"

namespace convlab::grader::probe {

namespace {

constexpr std::size_t kFewRuns = 3;

// In the words of a puzzle of one dimension.
Explanation fact_of_row(const ConvShape& s, const Label& at,
                        const std::vector<std::int64_t>& pixels) {
  const auto channel = [&](std::int64_t c) {
    return s.in_channels > 1 ? " of channel " + number(c) : "";
  };
  // The puzzle counts from the last row of the first channel.
  const auto input = [&](std::int64_t pixel) {
    const std::int64_t plane = std::int64_t{s.height} * s.width;
    const std::int64_t before = plane - s.width;
    return pixel % plane < before
               ? "input[" + number(pixel - before) + "]"
               : "input[" + number(pixel % plane - before) + "]" + channel(pixel / plane);
  };
  std::vector<std::string> instead;
  for (const std::int64_t each : pixels) instead.push_back(input(each));
  return told(pixels.empty() ? "E-terms/row" : "E-index/row",
              {number(at.w), "filter[" + number(at.q) + "]" + channel(at.c),
               input(input_index(s, at)), joined(instead, " and by ")});
}

// Without a name: what one wrong output computes.
// @param one_row  the filters have one row, their last
std::optional<Explanation> show_products(const Terms& terms, const DenseRun& dense,
                                         bool one_row = false) {
  const ConvShape& s = terms.shape;
  std::size_t o = 0;
  while (o < dense.right.size() && (!dense.is_wrong(o) || terms.unwritten[o])) ++o;
  if (o == dense.right.size() || terms.unclear > 0) return std::nullopt;
  const auto output = static_cast<std::int64_t>(o);
  std::map<std::int64_t, std::vector<std::int64_t>> meets;  // the pixels, by weight
  LabelledTerms own{.shape = s};
  for (const Term& term : terms.terms) {
    if (term.output != output) continue;
    meets[term.weight].push_back(term.pixel);
    own.terms.push_back({output_label(s, output), term});
  }
  for (const Label& at : all_products(s)) {
    const std::int64_t pixel = input_index(s, at);
    const std::int64_t weight = weight_index(s, at);
    const std::vector<std::int64_t>& pixels = meets[weight];
    const bool is_right = std::ranges::find(pixels, pixel) != pixels.end();
    if (output_index(s, at) != output || is_right || (one_row && at.p < s.kernel - 1)) continue;
    if (one_row) return fact_of_row(s, at, pixels);
    std::vector<std::string> instead;
    for (const std::int64_t each : pixels) instead.push_back(pixel_text(s, each));
    constexpr std::int64_t kShort = 1 << 16;
    Explanation fact = told(pixels.empty()                           ? "E-terms/shown"
                            : (pixels.front() - pixel) % kShort == 0 ? "E-index/short"
                                                                     : "E-index/shown",
                            {to_string(s), output_text(at), weight_text(s, weight),
                             pixel_text(s, pixel), joined(instead, " and by ")});
    fact.picture = window_picture(own, at);
    fact.product = watched(
        s, {at,
            {output, pixels.empty() ? pixel : pixels.front(), weight, pixels.empty() ? 0.0 : 1.0}});
    return fact;
  }
  return std::nullopt;
}

std::vector<Terms> measured(Program& program, const std::vector<ConvShape>& shapes,
                            bool by_weight) {
  std::vector<Terms> all;
  for (const ConvShape& shape : shapes) {
    auto terms = measure(program, shape, by_weight);
    if (!terms) return {};
    all.push_back(std::move(*terms));
  }
  return all;
}

// Which products are right: there once, with the right pixel and weight.
std::vector<bool> right_products(const LabelledTerms& terms) {
  std::vector<int> right(terms.factors.size());
  for (const Labelled& each : terms.terms) {
    const bool is_right = is_right_product(terms.shape, each) && each.term.factor == 1.0;
    int& own = right[place_of(terms.shape, each.at)];
    own = own == 0 && is_right ? 1 : -1;
  }
  std::vector<bool> all;
  for (const int each : right) all.push_back(each == 1);
  return all;
}

// Some products are right and the others wrong: which ones, and by how much their index differs.
class WrongPart {
 public:
  WrongPart(const std::vector<LabelledTerms>& all, bool by_weight)
      : all_(all),
        by_weight_(by_weight),
        form_(form_of(by_weight ? IndexForm::Array::kInput : IndexForm::Array::kWeights)) {}

  // @param outputs  the rule of outputs that are wrong; empty if there is none
  std::optional<Explanation> find(const std::string& outputs) {
    for (const LabelledTerms& terms : all_) {
      if (terms.terms.empty()) return std::nullopt;  // nothing is right there
      look_at(terms);
    }
    if (example_ == nullptr || !some_right_ || is_doubled_) return std::nullopt;
    const bool of_outputs = !is_mixed_ && !is_missing_ && !outputs.empty();
    const std::string rule = of_outputs ? outputs : common_rule(samples_).text;
    if (rule.empty()) return std::nullopt;
    Explanation fact =
        told("E-index/part", {shapes_text(shapes_), of_outputs ? "outputs" : "products", rule,
                              form_.name(), is_missing_ ? "are missing, or use" : "use"});
    IndexForm difference = form_;
    std::ranges::fill(difference.right, number_expression(0));
    const auto by = named_index(difference, shapes_, deviations_);
    if (by && !is_missing_) {
      fact.seen += " The difference to the right index is " + by->text() + ".";
      fact.cause += " Their index differs by " + by->text() + ".";
    }
    const LabelledTerms& first = all_.front();
    const bool is_of_first =
        example_ >= first.terms.data() && example_ < first.terms.data() + first.terms.size();
    if (is_of_first) show_example(fact, first, *example_);
    return fact;
  }

  [[nodiscard]] bool is_missing() const { return is_missing_; }

 private:
  void look_at(const LabelledTerms& terms) {
    const ConvShape& s = terms.shape;
    shapes_.push_back(s);
    deviations_.emplace_back();
    const std::vector<bool> right = right_products(terms);
    std::vector<bool> marked;
    std::vector<Label> labels;
    std::map<std::int64_t, bool> outputs_wrong;
    for (const Label& at : all_products(s)) {
      const auto output = output_index(s, at);
      if (terms.unwritten[static_cast<std::size_t>(output)]) continue;
      const bool wrong = !right[place_of(s, at)];
      is_missing_ = is_missing_ || (wrong && terms.factors[place_of(s, at)] == 0.0);
      is_mixed_ = is_mixed_ || outputs_wrong.emplace(output, wrong).first->second != wrong;
      some_right_ = some_right_ || !wrong;
      labels.push_back(at);
      marked.push_back(wrong);
    }
    samples_.push_back({features_of(s, labels, true), marked});
    std::vector<bool> has_right(right.size());
    for (const Labelled& each : terms.terms) {
      if (is_right_product(s, each)) has_right[place_of(s, each.at)] = true;
    }
    for (const Labelled& each : terms.terms) {
      if (right[place_of(s, each.at)]) continue;
      is_doubled_ = is_doubled_ || has_right[place_of(s, each.at)];
      if (example_ == nullptr && !is_right_product(s, each)) example_ = &each;
      deviations_.back().push_back(
          {variables_of(each.at), by_weight_ ? each.term.pixel - input_index(s, each.at)
                                             : each.term.weight - weight_index(s, each.at)});
    }
    const bool all_written = std::ranges::none_of(terms.unwritten, [](bool each) { return each; });
    is_mixed_ = is_mixed_ || !all_written;  // a rule of outputs would count those, too
  }

  const std::vector<LabelledTerms>& all_;
  bool by_weight_;
  const IndexForm& form_;
  std::vector<ConvShape> shapes_{};
  std::vector<std::vector<Point>> deviations_{};
  std::vector<Samples> samples_{};
  const Labelled* example_ = nullptr;
  bool some_right_ = false;
  bool is_missing_ = false;
  bool is_doubled_ = false;  ///< a product is there, and another one in addition
  bool is_mixed_ = false;    ///< an output has right products and wrong ones
};

// What is said of products is said of outputs that are written.
std::optional<Explanation> of_written(std::optional<Explanation> fact,
                                      const std::vector<DenseRun>& runs) {
  const bool some_unwritten = std::ranges::any_of(runs, [](const DenseRun& run) {
    const auto outputs = std::views::iota(std::size_t{0}, run.right.size());
    return std::ranges::any_of(outputs, [&](auto i) { return run.is_unwritten(i); });
  });
  if (fact && some_unwritten)
    fact->seen += "\nSome outputs are never written; this is said of the others.";
  return fact;
}

// Whether a formula, which a few products may fit by chance, gives the numbers of whole runs; or,
// where a guard leaves out products, holds for most of them.
bool is_confirmed(const WrongIndex& wrong, const std::vector<DenseRun>& runs) {
  const bool holds_for_most = std::ranges::all_of(wrong.terms, [](const LabelledTerms& terms) {
    return 2 * terms.terms.size() >= terms.factors.size();
  });
  return (holds_for_most && wrong.terms.size() == runs.size()) ||
         std::ranges::all_of(
             runs, [&](const DenseRun& run) { return predicts(*wrong.form, wrong.index, run); });
}

/// Measured terms whose products belong to the tap of their weight, or of their pixel.
struct View {
  std::vector<LabelledTerms> terms;
  bool by_weight;
};

// Rather products that use another element than some that are missing: seen from the other array, a
// product in another's place is missing in one place and doubled in the next.
std::optional<Explanation> find_part(const std::vector<View>& views, const std::string& outputs) {
  std::optional<Explanation> missing;
  for (const View& view : views) {
    WrongPart part(view.terms, view.by_weight);
    auto fact = part.find(outputs);
    if (fact && !part.is_missing()) return fact;
    if (fact && !missing) missing = std::move(fact);
  }
  return missing;
}

// @param any_shape  the program promises more than the shapes of these runs
std::optional<Explanation> find_terms(Program& program, const std::vector<DenseRun>& runs,
                                      const std::string& outputs, bool any_shape) {
  std::vector<ConvShape> shapes;
  // Each weight takes a run, and others must have some left.
  constexpr std::int64_t kMostWeights = 300;
  for (const DenseRun& run : runs) {
    if (runs.size() < 3 || run.shape.weights_size() <= kMostWeights) shapes.push_back(run.shape);
  }
  std::vector<View> views;
  std::vector<WrongIndex> candidates;
  const auto look_at = [&](const std::vector<Terms>& terms, bool by_weight) {
    views.push_back({labelled(terms, by_weight), by_weight});
    if (views.back().terms.empty()) return views.pop_back();
    if (auto wrong = wrong_index(views.back().terms, by_weight)) {
      candidates.push_back(std::move(*wrong));
    }
  };
  const std::vector<Terms> by_weight = measured(program, shapes, true);
  look_at(by_weight, true);
  if (!views.empty()) {
    if (auto fact = find_counts(views.front().terms)) return fact;
  }
  look_at(by_weight, false);
  std::vector<Terms> by_pixel;
  if (candidates.empty()) {
    // The same of pixels.
    constexpr std::int64_t kMostPixels = 200;
    std::vector<ConvShape> two;
    std::ranges::copy_if(shapes, std::back_inserter(two), [&](const ConvShape& shape) {
      return two.size() < 2 && shape.input_image_size() <= kMostPixels;
    });
    by_pixel = measured(program, two, false);
    look_at(by_pixel, false);
    look_at(by_pixel, true);
  }
  std::erase_if(candidates, [&](const WrongIndex& each) { return !is_confirmed(each, runs); });
  if (!candidates.empty()) {
    const auto best = std::ranges::min_element(candidates, {}, complexity);
    const auto rival = std::ranges::find_if(
        candidates, [&](const WrongIndex& each) { return each.form != best->form; });
    return fact_of(*best, rival == candidates.end() ? nullptr : &*rival);
  }
  if (!views.empty() && views.front().by_weight) {
    if (auto fact = find_output_rows(views.front().terms)) return fact;
    if (auto fact = find_tile_rows(views.front().terms)) return fact;
  }
  if (auto fact = find_part(views, outputs)) return fact;
  if (any_shape) {
    if (auto fact = find_matrix_mistake(program)) return fact;
  }
  if (auto fact = find_unused_array(program, runs.front())) return fact;
  const bool is_unclear =
      std::ranges::any_of(by_weight, [](const Terms& terms) { return terms.unclear > 0; });
  if (any_shape && is_unclear) {
    if (auto fact = find_factors(program)) return fact;
  }
  for (const auto& terms : {by_weight, by_pixel}) {
    if (terms.empty()) continue;
    if (auto fact = show_products(terms.front(), runs.front())) return fact;
  }
  return std::nullopt;
}

// Exactly the outputs with this are wrong: "m = M - 1"; empty if there is no such rule.
// @param tiles  only rules of incomplete tiles
Rule wrong_outputs(const std::vector<DenseRun>& runs, bool tiles = false) {
  std::vector<Samples> samples;
  for (const DenseRun& run : runs) {
    std::vector<Label> labels;
    std::vector<bool> marked;
    for (std::size_t i = 0; i < run.right.size(); ++i) {
      labels.push_back(output_label(run.shape, static_cast<std::int64_t>(i)));
      marked.push_back(run.is_wrong(i));
    }
    samples.push_back({features_of(run.shape, labels, false), marked});
    if (tiles) {
      std::erase_if(samples.back().features, [](const Feature& each) { return !each.is_flag; });
    }
  }
  return common_rule(samples);
}

// The outputs of this rule are wrong; the variable of the rule says what kind of mistake it is.
Explanation fact_of_outputs(const Rule& rule, const DenseRun& run) {
  const bool at_end = std::ranges::any_of(rule.parts, [](const Rule::Part& part) {
    const bool is_side = part.variable == 'h' || part.variable == 'w';
    return part.variable == 'o' || part.variable == 'n' || (is_side && !part.end.empty());
  });
  const std::string moved = moved_sums(run);
  Explanation fact = told("E-blocks/measured", {to_string(run.shape), rule.text});
  fact.id = rule.variable() == 'b'   ? "E-images"
            : rule.variable() == 'm' ? "E-maps"
            : at_end                 ? "E-borders"
                                     : "E-blocks";
  fact.seen += neighbourhood(run);
  fact.product = first_wrong(run);
  if (!moved.empty()) fact.cause += " " + moved;
  return fact;
}

}  // namespace

WrongProduct first_wrong(const DenseRun& run) {
  std::size_t o = 0;
  while (!run.is_wrong(o)) ++o;
  return {.shape = run.shape, .output = static_cast<std::int64_t>(o)};
}

std::optional<Explanation> find_in_row(Program& program, const ConvShape& shape) {
  DenseRun run = run_dense(program, shape);
  keep_last_rows(shape, run.weights);
  run.right = right_sums(shape, run.input, run.weights);
  run.answer = program.run(shape, run.input, run.weights);
  if (!run.gives_wrong()) return std::nullopt;
  const auto terms = measure(program, shape, true);
  auto fact = terms ? show_products(*terms, run, true) : std::nullopt;
  Rule rule = fact ? wrong_outputs({run}) : Rule();
  if (rule.variable() == 'w') rule.text.front() = 'i';
  if (!rule.empty()) fact->seen += "\nExactly the outputs with " + rule.text + " are wrong.";
  return fact;
}

std::optional<Explanation> find_unwritten(const std::vector<DenseRun>& all) {
  bool any = false;
  for (const DenseRun& run : all) {
    for (std::size_t i = 0; i < run.right.size(); ++i) {
      if (run.is_wrong(i) && !run.is_unwritten(i)) return std::nullopt;
      any = any || run.is_unwritten(i);
    }
  }
  // Where nothing is written, every rule holds.
  std::vector<DenseRun> some;
  std::vector<ConvShape> shapes;
  for (const DenseRun& run : all) {
    const auto outputs = std::views::iota(std::size_t{0}, run.right.size());
    if (std::ranges::all_of(outputs, [&](auto i) { return run.is_unwritten(i); })) continue;
    some.push_back(run);
    if (!run.is_right()) shapes.push_back(run.shape);
  }
  Rule outputs = any ? wrong_outputs(some) : Rule();
  // What is wrong only with some filter or stride says nothing of the other shapes.
  if (any && outputs.empty()) {
    std::erase_if(some, &DenseRun::is_right);
    outputs = wrong_outputs(some);
  }
  if (outputs.empty()) return std::nullopt;
  // At one shape the tile may be any other number that fits.
  const Rule rest = shapes.size() > 1 ? wrong_outputs(some, true) : Rule();
  const Rule& rule = rest.empty() ? outputs : rest;
  Explanation fact = told(rest.empty() ? "E-partly-written/measured" : "E-rounded-down/measured",
                          {shapes_text(shapes), rule.text});
  fact.rule = rule;
  return fact;
}

// What whole runs tell, without a look at the products.
static std::optional<Explanation> find_in_sums(const std::vector<DenseRun>& all) {
  if (auto fact = find_unwritten(all)) return fact;
  std::vector<DenseRun> wrong;
  std::ranges::copy_if(all, std::back_inserter(wrong), std::not_fn(&DenseRun::is_right));
  auto fact = find_moved_sums(wrong);
  if (!fact) fact = find_function(wrong);
  if (!fact) fact = find_carried_sum(wrong);
  if (fact && !fact->product) fact->product = first_wrong(wrong.front());
  return fact;
}

std::optional<Explanation> find_in_large(Program& program, const ConvShape& shape) {
  constexpr std::int64_t kMostOutputs = 200'000;
  constexpr std::int64_t kMostWork = 50'000'000;
  if (shape.output_size() > kMostOutputs || shape.multiply_adds() > kMostWork) return std::nullopt;
  const std::vector<DenseRun> runs = {run_dense(program, shape)};
  // A single sum is a function of anything.
  constexpr std::size_t kEnough = 20;
  if (!runs.front().gives_wrong() || runs.front().right.size() < kEnough) return std::nullopt;
  if (auto fact = find_unwritten(runs)) {
    // Is it still the last, incomplete tile where there are two more of 16?
    ConvShape larger = shape;
    const bool is_map = fact->rule.variable() == 'm';
    const bool is_row = fact->rule.variable() == 'h';
    (is_map   ? larger.out_channels
     : is_row ? larger.height
              : larger.width) += is_map ? 32 : 32 * shape.stride;
    const std::vector<DenseRun> both = {runs.front(), run_dense(program, larger)};
    auto rest = both.back().gives_wrong() ? find_unwritten(both) : std::nullopt;
    return rest && rest->id != fact->id ? rest : fact;
  }
  if (auto fact = find_in_sums(runs)) return fact;
  const Rule outputs = wrong_outputs(runs);
  return outputs.empty() ? std::nullopt : std::optional(fact_of_outputs(outputs, runs.front()));
}

std::optional<Explanation> find_fact(Program& program, const std::vector<ConvShape>& shapes,
                                     const std::optional<ConvShape>& must, bool any_shape) {
  std::vector<DenseRun> all;
  std::vector<DenseRun> wrong;
  for (const ConvShape& shape : shapes) {
    DenseRun run = run_dense(program, shape);
    if (!run.has_numbers()) continue;
    if (!run.is_right() && wrong.size() < kFewRuns) wrong.push_back(run);
    all.push_back(std::move(run));
  }
  if (wrong.empty()) return std::nullopt;
  if (must) all.push_back(run_dense(program, *must));
  if (must && any_shape && !all.back().has_numbers()) all.pop_back();
  if (!any_shape) {
    const DenseRun run = all.back();
    if (!run.gives_wrong()) return std::nullopt;
    if (auto fact = find_in_sums(all)) return fact;
    auto fact = of_written(find_terms(program, wrong, "", false), wrong);
    return fact && fact->predicts && fact->predicts(run) ? fact : std::nullopt;
  }
  if (auto fact = find_in_sums(all)) return fact;
  const Rule outputs = wrong_outputs(all);
  auto fact = of_written(find_terms(program, wrong, outputs.text, true), wrong);
  if (fact && fact->cause.empty()) {
    if (auto stored = find_moved_sums({wrong.front()})) return stored;
  }
  // What was seen at a few shapes is the cause if it explains the other ones that fail, too.
  const auto is_explained = [&](const DenseRun& run) {
    return run.is_right() || !fact->counts_give || fact->counts_give(run);
  };
  if (fact && !std::ranges::all_of(all, is_explained)) {
    fact->id = "E-terms";
    fact->cause.clear();
  }
  const std::string moved = moved_sums(wrong.front());
  if (fact && is_of_kind(*fact, "index") && !fact->predicts && !moved.empty()) {
    fact->cause = moved + " " + fact->cause;
    // Where a few sums are none of the right ones, the product tells more than the store.
    const bool holds_sums = std::ranges::all_of(wrong, [](const DenseRun& run) {
      const std::set<double> sums(run.right.begin(), run.right.end());
      return std::ranges::all_of(run.answer.output, [&](float each) {
        return each != 0.0F && sums.contains(static_cast<double>(each));
      });
    });
    if (holds_sums) fact->product = first_wrong(wrong.front());
  }
  // A store or a sum in the wrong place is wrong at every shape.
  const bool some_right = std::ranges::any_of(all, &DenseRun::is_right);
  if (fact && some_right && is_of_kind(*fact, "at-every-shape")) fact->id = "E-terms";
  if (!fact) fact = find_one_product(program);
  if (!fact && !outputs.empty()) fact = fact_of_outputs(outputs, wrong.front());
  return fact;
}

}  // namespace convlab::grader::probe
