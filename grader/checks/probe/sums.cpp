#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/wrong_index.hpp"

namespace convlab::grader::probe {

namespace {

/// Which right sums the places of the output hold.
struct Places {
  std::vector<Point> points{};
  std::int64_t moved = 0;    ///< not in their own place
  std::int64_t strange = 0;  ///< no right sum, or one that another place holds, too
  std::string example{};
};

// A window outside of the image gives 0.
Places places_of_sums(const DenseRun& run) {
  std::map<double, std::size_t> places;
  for (std::size_t i = 0; i < run.right.size(); ++i) {
    if (!places.emplace(run.right[i], i).second) places[run.right[i]] = run.right.size();
  }
  Places found;
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < run.right.size(); ++i) {
    const auto got = static_cast<double>(run.answer.output[i]);
    const auto from = std::isnan(got) ? places.end() : places.find(got);
    if (run.is_unwritten(i) || (from == places.end() && got == 0.0)) continue;
    if (from != places.end() && from->second == run.right.size()) continue;  // two sums are equal
    if (from == places.end() || !used.insert(from->second).second) ++found.strange;
    if (from == places.end()) continue;
    const Label own = output_label(run.shape, static_cast<std::int64_t>(from->second));
    if (from->second != i && ++found.moved == 1) {
      found.example = "output " +
                      output_text(output_label(run.shape, static_cast<std::int64_t>(i))) +
                      " holds that of output " + output_text(own);
    }
    found.points.push_back({variables_of(own), static_cast<std::int64_t>(i)});
  }
  return found;
}

}  // namespace

std::string moved_sums(const DenseRun& run) {
  const Places places = places_of_sums(run);
  std::int64_t wrong = 0;
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < run.right.size(); ++i) {
    wrong += run.is_wrong(i) ? 1 : 0;
    counted += run.is_wrong(i) && !run.is_unwritten(i) && run.answer.output[i] != 0.0F ? 1 : 0;
  }
  if (2 * places.moved <= counted) return {};
  return number(places.moved) + " of " + number(counted) + " wrong outputs" +
         (counted < wrong ? " that are written and not 0" : "") +
         " hold the right sum of another one: " + places.example + ".";
}

std::optional<Explanation> find_moved_sums(const std::vector<DenseRun>& runs) {
  std::vector<ConvShape> shapes;
  std::vector<std::vector<Point>> points;
  bool is_part = false;
  bool is_most = true;
  for (const DenseRun& run : runs) {
    Places own = places_of_sums(run);
    is_part = is_part || own.strange > 0;
    is_most = is_most && (own.moved >= 3 * own.strange || own.moved + own.strange == 0);
    if (own.strange > 0 || own.moved == 0) continue;
    shapes.push_back(run.shape);
    points.push_back(std::move(own.points));
  }
  // Outputs that do not exist, of a wrong size of the output, may lie over others.
  const bool is_enough = shapes.size() > (is_part ? 1 : 0);
  const IndexForm& form = form_of(IndexForm::Array::kOutput);
  if (const auto named = is_enough ? named_index(form, shapes, points) : std::nullopt) {
    Explanation fact = index_fact(form, *named, shapes);
    if (is_part) fact.id = "E-index";
    return fact;
  }
  const auto moved =
      std::ranges::find_if(runs, [](const DenseRun& run) { return places_of_sums(run).moved > 0; });
  if (!is_most || moved == runs.end()) return std::nullopt;
  Explanation fact =
      told("E-output-order/exchanged", {to_string(moved->shape), moved_sums(*moved)});
  fact.seen += neighbourhood(*moved);
  fact.product = first_wrong(*moved);
  return fact;
}

std::optional<Explanation> find_moved_images(const DenseRun& run) {
  const ConvShape& s = run.shape;
  const std::int64_t size = s.output_image_size();
  const auto& output = run.answer.output;
  const auto equal = [](float got, double right) { return static_cast<double>(got) == right; };
  const auto holds = [&](int at, int image) {
    return std::equal(output.begin() + at * size, output.begin() + (at + 1) * size,
                      run.right.begin() + image * size, equal);
  };
  int first = 0;
  while (first < s.batch && holds(first, first)) ++first;
  if (first == s.batch) return std::nullopt;
  for (int image = 0; image < s.batch; ++image) {
    if (!holds(first, image)) continue;
    return told(image < first ? "E-slices/input-stays" : "E-slices/output-stays",
                {number(first), number(image)});
  }
  // Its slice may have begun before: where do the sums of the next images stand?
  for (int image = 1; image < s.batch; ++image) {
    const std::int64_t right = image * size;
    const auto begin = run.right.begin() + right;
    const std::int64_t found = std::search(output.begin(), output.end(), begin,
                                           begin + std::min<std::int64_t>(size, 16), equal) -
                               output.begin();
    if (found == right || found == std::ssize(output) || found % image != 0) continue;
    const std::int64_t step = found / image;
    return told("E-slices/step",
                {number(image), number(found), number(right),
                 step == s.input_image_size()             ? ", C·H·W for each image before it"
                 : step == s.out_height() * s.out_width() ? ", H_out·W_out for each image before it"
                                                          : ""});
  }
  return std::nullopt;
}

namespace {

// Whether `same` holds for each output and the right sum.
bool holds_for_all(const std::vector<DenseRun>& runs, const auto& same) {
  for (const DenseRun& run : runs) {
    for (std::size_t i = 0; i < run.right.size(); ++i) {
      if (run.is_unwritten(i) ||
          !same(run, static_cast<double>(run.answer.output[i]), run.right[i])) {
        return false;
      }
    }
  }
  return true;
}

std::vector<ConvShape> shapes_of(const std::vector<DenseRun>& runs) {
  std::vector<ConvShape> shapes;
  for (const DenseRun& run : runs) shapes.push_back(run.shape);
  return shapes;
}

Explanation told_of_sums(const char* name, const std::string& value,
                         const std::vector<DenseRun>& runs) {
  Explanation fact = told(name, {value, shapes_text(shapes_of(runs))});
  fact.seen += neighbourhood(runs.front());
  return fact;
}

// All sums times the same factor.
std::optional<Explanation> find_scaling(const std::vector<DenseRun>& runs) {
  std::vector<double> factors;
  for (const DenseRun& run : runs) {
    const auto largest =
        std::ranges::max_element(run.right, {}, [](double right) { return std::abs(right); });
    const auto at = static_cast<std::size_t>(largest - run.right.begin());
    const double factor = static_cast<double>(run.answer.output[at]) / *largest;
    if (!std::isfinite(factor) || factor == 0.0 || factor == 1.0) return std::nullopt;
    factors.push_back(factor);
  }
  const bool is_scaled = holds_for_all(runs, [&](const DenseRun& run, double got, double right) {
    const double factor = factors[static_cast<std::size_t>(&run - runs.data())];
    const double scaled = factor * right;
    return std::abs(got - scaled) <= 1e-5 * std::abs(scaled) ||
           (got == right && std::abs(scaled - right) < kNearlyRight);
  });
  if (!is_scaled) return std::nullopt;
  // As a whole number, or one divided by a whole number.
  const std::vector<ConvShape> shapes = shapes_of(runs);
  std::vector<std::int64_t> whole;
  const bool divides = std::abs(factors.front()) < 1.0;
  for (const double each : factors) {
    const double factor = divides ? 1.0 / each : each;
    if (std::abs(factor - std::round(factor)) < 1e-3) whole.push_back(std::llround(factor));
  }
  std::string name;
  if (whole.size() == runs.size()) {
    name = expression_of(whole, shapes).value_or(number_expression(whole.front())).text();
    if (divides) name = "1 / (" + name + ")";
  } else {
    name = real(factors.front());
  }
  const bool counts = factors.front() > 1.0 && whole.size() == runs.size();
  Explanation fact =
      told_of_sums(counts ? "E-scaled/several-times" : "E-scaled/measured", name, runs);
  if (counts) fact.product = watched(shapes.front(), {{}, {.factor = factors.front()}});
  return fact;
}

}  // namespace

std::optional<Explanation> find_function(const std::vector<DenseRun>& runs) {
  const auto all = [&](const auto& same) { return holds_for_all(runs, same); };
  const auto say = [&](const char* name, const std::string& value) {
    return told_of_sums(name, value, runs);
  };
  if (all([](const DenseRun&, double got, double) { return got == 0.0; })) {
    return say("E-terms/zeros", "");
  }
  const DenseRun& first = runs.front();
  const double more = first.right.empty() ? 0.0 : double{first.answer.output[0]} - first.right[0];
  if (all([&](const DenseRun&, double got, double right) { return got == right + more; })) {
    return say("E-wrong/constant", real(more));
  }
  if (all([](const DenseRun&, double got, double right) { return got == std::max(right, 0.0); })) {
    return say("E-activation/measured", "");
  }
  for (const bool input : {true, false}) {
    const bool copied = std::ranges::all_of(runs, [&](const DenseRun& run) {
      const Numbers& array = input ? run.input : run.weights;
      const auto count = std::min(array.size(), std::ssize(run.answer.output));
      const auto got = run.answer.output.begin();
      // One product with a weight of 1 is the pixel.
      return std::equal(array.begin(), array.begin() + count, got) &&
             !std::equal(run.right.begin(), run.right.begin() + count, got);
    });
    if (!copied) continue;
    return told("E-not-copied-back/other-array",
                {input ? "input" : "weights", shapes_text(shapes_of(runs))});
  }
  return find_scaling(runs);
}

namespace {

// How many places before each wrong output the one stands whose value it has in addition.
// @param stored  its stored value, not its right sum
// @param enough  as many of them are no chance
std::optional<std::int64_t> distance_of_carried(const DenseRun& run, bool stored,
                                                std::int64_t enough) {
  const std::int64_t size = std::ssize(run.right);
  const auto got = [&](std::int64_t i) {
    return static_cast<double>(run.answer.output[static_cast<std::size_t>(i)]);
  };
  const auto right = [&](std::int64_t i) { return run.right[static_cast<std::size_t>(i)]; };
  const auto value = [&](std::int64_t i) { return stored ? got(i) : right(i); };
  std::int64_t wrong = size - 1;
  while (wrong >= 0 && got(wrong) == right(wrong)) --wrong;
  for (std::int64_t from = 0; from < size && wrong >= 0; ++from) {
    if (from == wrong || !(value(from) == got(wrong) - right(wrong))) continue;
    const std::int64_t distance = wrong - from;
    std::int64_t carried = 0;
    const auto explains = [&](std::int64_t i) {
      const double more = got(i) - right(i);
      if (more == 0.0) return true;
      ++carried;
      return i >= distance && i - distance < size && more == value(i - distance);
    };
    const auto all = std::views::iota(std::int64_t{0}, size);
    // Where the sum begins anew there is none.
    if (std::ranges::all_of(all, explains) && carried >= enough) return distance;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Explanation> find_carried_sum(const std::vector<DenseRun>& runs) {
  const std::vector<ConvShape> shapes = shapes_of(runs);
  for (const bool stored : {true, false}) {
    std::vector<std::int64_t> distances;
    for (const DenseRun& run : runs) {
      // At one shape a sum may hold another one by chance, but not 20 of them.
      constexpr std::int64_t kMany = 20;
      const std::int64_t half = (std::ssize(run.right) + 1) / 2;
      const std::int64_t enough = runs.size() == 1 ? kMany : std::min(half, kMany);
      if (const auto distance = distance_of_carried(run, stored, enough)) {
        distances.push_back(*distance);
      }
    }
    if (distances.size() < runs.size()) continue;
    const SizeExpression one = number_expression(1);
    const auto back =
        expression_of(distances, shapes, one).value_or(number_expression(distances.front()));
    Explanation fact = told("E-sum-kept/measured",
                            {stored ? "the stored value" : "the sum",
                             back == one ? "" : back.text() + " elements ", shapes_text(shapes)});
    fact.seen += neighbourhood(runs.front());
    return fact;
  }
  return std::nullopt;
}

std::optional<Explanation> find_one_product(Program& program) {
  std::vector<std::string> gives;
  int right = 0;
  for (const auto& [pixel, weight] :
       {std::pair{3.0F, 2.0F}, {-3.0F, 2.0F}, {3.0F, -2.0F}, {-3.0F, -2.0F}, {0.5F, 2.0F}}) {
    Numbers input(1);
    Numbers weights(1);
    input[0] = pixel, weights[0] = weight;
    const Answer answer = program.run({1, 1, 1, 1, 1, 1, 1}, input, weights);
    if (answer.kind != Answer::Kind::kNumbers) return std::nullopt;
    right += answer.output.front() == pixel * weight ? 1 : 0;
    gives.push_back(real(double{pixel}) + " · " + real(double{weight}) + " gives " +
                    real(double{answer.output.front()}));
  }
  if (right == 0 || right == std::ssize(gives)) return std::nullopt;
  return told("E-wrong/one-product", {joined(gives, ", ")});
}

std::optional<Explanation> find_kept(Program& program, const ConvShape& shape) {
  const DenseRun own = run_dense(program, shape, 1);
  const DenseRun other = run_dense(program, shape, 2);
  // The second of two calls in a new process, the first with these numbers.
  const auto second = [&](const Numbers& input, const Numbers& weights) {
    program.restart();
    program.run(shape, input, weights);
    return program.run(shape, own.input, own.weights);
  };
  const auto gives = [](const Answer& answer, const std::vector<double>& sums) {
    return std::ranges::equal(
        sums, answer.output, [](double sum, float got) { return sum == static_cast<double>(got); });
  };
  // NaN is equal to nothing.
  const auto same = [](const Answer& a, const Answer& b) {
    return std::ranges::equal(a.output, b.output,
                              [](float x, float y) { return x == y || (x != x && y != y); });
  };
  const Answer after = second(other.input, other.weights);
  const Answer after_same_input = second(own.input, other.weights);
  const Answer after_same_weights = second(other.input, own.weights);
  // A call that fails only sometimes fails for another reason than the numbers of the first.
  if (after.kind != after_same_input.kind || after.kind != after_same_weights.kind) {
    return std::nullopt;
  }
  const Answer again = second(other.input, other.weights);
  if (after.kind != again.kind) return std::nullopt;
  const bool of_input = !same(after, after_same_input);
  const bool of_weights = !same(after, after_same_weights);
  if (!of_input && !of_weights) {
    program.restart();
    if (!gives(program.run(shape, own.input, own.weights), own.right)) return std::nullopt;
    if (!gives(after, own.right)) return told("E-replay/first-call-only", {to_string(shape)});
    ConvShape smaller = shape;
    smaller.height -= 2, smaller.width -= 1, smaller.batch = 1;
    constexpr int kTimes = 3;  // not by chance, such as a crash now and then
    for (int i = 0; i < kTimes; ++i) {
      program.restart();
      run_dense(program, smaller, 2);
      if (gives(program.run(shape, own.input, own.weights), own.right)) return std::nullopt;
    }
    if (program.is_over()) return std::nullopt;  // then nothing ran
    return told("E-replay/earlier-size", {to_string(shape), to_string(smaller)});
  }
  if (!same(after, again)) return std::nullopt;  // by chance, such as a race
  std::vector<double> both = own.right;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += other.right[i];
  const std::string which = of_input && of_weights ? "input and weights"
                            : of_input             ? "the input"
                                                   : "the weights";
  const bool of_all = gives(after, other.right);
  const char* name = of_all || gives(after, right_sums(shape, other.input, own.weights)) ||
                             gives(after, right_sums(shape, own.input, other.weights))
                         ? "E-replay/first-numbers"
                     : gives(after, both) ? "E-replay/sum-of-both"
                                          : "E-replay/first-result";
  return told(name, {which, of_all ? "input and weights" : which});
}

}  // namespace convlab::grader::probe
