#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"
#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/terms.hpp"
#include "grader/checks/probe/wrong_index.hpp"

namespace convlab::grader::probe {

namespace {

/// Which right sums the places of the output hold.
struct Places {
  std::vector<Point> points{};
  std::size_t moved = 0;    ///< not in their own place
  std::size_t strange = 0;  ///< no right sum, or one that another place holds, too
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
    const auto from = places.find(got);
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
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < run.right.size(); ++i) {
    wrong += run.is_wrong(i) && !run.is_unwritten(i) && run.answer.output[i] != 0.0F ? 1 : 0;
  }
  if (2 * places.moved <= wrong) return {};
  return number(static_cast<std::int64_t>(places.moved)) + " of " +
         number(static_cast<std::int64_t>(wrong)) +
         " wrong outputs hold the right sum of another one: " + places.example + ".";
}

std::optional<Fact> find_moved_sums(const std::vector<DenseRun>& runs) {
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
  if (const auto named = is_enough ? named_index(output_form(), shapes, points) : std::nullopt) {
    Fact fact = index_fact(output_form(), *named, shapes);
    if (is_part) fact.id = "E-index";
    return fact;
  }
  const auto moved =
      std::ranges::find_if(runs, [](const DenseRun& run) { return places_of_sums(run).moved > 0; });
  if (!is_most || moved == runs.end()) return std::nullopt;
  Fact fact = told("E-output-order/exchanged", {to_string(moved->shape), moved_sums(*moved)});
  fact.measured += neighbourhood(*moved);
  fact.product = first_wrong(*moved);
  return fact;
}

std::optional<Fact> find_moved_images(const DenseRun& run) {
  const ConvShape& s = run.shape;
  const std::int64_t size = s.output_image_size();
  const auto& output = run.answer.output;
  // The place of an image's sums at or behind `from`; the number of outputs if there is none.
  const auto place_of = [&](int image, std::int64_t from) {
    const auto begin = run.right.begin() + image * size;
    return std::search(output.begin() + from, output.end(), begin,
                       begin + std::min<std::int64_t>(size, 16),
                       [](float got, double right) { return static_cast<double>(got) == right; }) -
           output.begin();
  };
  const auto holds = [&](int at, int image) {
    return std::equal(run.right.begin() + image * size, run.right.begin() + (image + 1) * size,
                      output.begin() + at * size,
                      [](double right, float got) { return static_cast<double>(got) == right; });
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
    const std::int64_t found = place_of(image, 0);
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

std::optional<Fact> find_function(const std::vector<DenseRun>& runs) {
  const auto all = [&](const auto& same) {
    for (const DenseRun& run : runs) {
      for (std::size_t i = 0; i < run.right.size(); ++i) {
        if (run.is_unwritten(i) ||
            !same(run, static_cast<double>(run.answer.output[i]), run.right[i])) {
          return false;
        }
      }
    }
    return true;
  };
  const auto say = [&](const char* name, const std::string& value) {
    Fact fact = told(name, {value});
    fact.measured += neighbourhood(runs.front());
    return fact;
  };
  if (all([](const DenseRun&, double got, double right) { return got == std::max(right, 0.0); })) {
    return say("E-activation/measured", "");
  }
  for (const bool input : {true, false}) {
    const bool copied = std::ranges::all_of(runs, [&](const DenseRun& run) {
      const Numbers& array = input ? run.input : run.weights;
      const std::int64_t count =
          std::min(array.size(), static_cast<std::int64_t>(run.answer.output.size()));
      // One product with a weight of 1 is the pixel.
      bool is_wrong = false;
      for (std::int64_t i = 0; i < count && !is_wrong; ++i) {
        is_wrong = run.is_wrong(static_cast<std::size_t>(i));
      }
      return is_wrong &&
             std::equal(array.begin(), array.begin() + count, run.answer.output.begin());
    });
    if (!copied) continue;
    return told("E-not-copied-back/other-array", {input ? "input" : "weights"});
  }
  std::vector<double> factors;
  for (const DenseRun& run : runs) {
    const auto largest =
        std::ranges::max_element(run.right, {}, [](double right) { return std::abs(right); });
    const auto at = static_cast<std::size_t>(largest - run.right.begin());
    const double factor = static_cast<double>(run.answer.output[at]) / *largest;
    if (!std::isfinite(factor) || factor == 0.0 || factor == 1.0) return std::nullopt;
    factors.push_back(factor);
  }
  const bool is_scaled = all([&](const DenseRun& run, double got, double right) {
    const double factor = factors[static_cast<std::size_t>(&run - runs.data())];
    const double scaled = factor * right;
    return std::abs(got - scaled) <= 1e-5 * std::abs(scaled) ||
           (got == right && std::abs(scaled - right) < kNearlyRight);
  });
  if (!is_scaled) return std::nullopt;
  // As a whole number, or one divided by a whole number.
  std::vector<ConvShape> shapes;
  std::vector<std::int64_t> whole;
  const bool divides = std::abs(factors.front()) < 1.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double factor = divides ? 1.0 / factors[i] : factors[i];
    shapes.push_back(runs[i].shape);
    if (std::abs(factor - std::round(factor)) < 1e-3) whole.push_back(std::llround(factor));
  }
  std::string name;
  if (whole.size() == runs.size()) {
    name = name_of(whole, shapes, "");
    if (name.empty()) name = number(whole.front());
    if (divides) name = "1 / (" + name + ")";
  } else {
    name = real(factors.front());
  }
  const bool counts = factors.front() > 1.0 && whole.size() == runs.size();
  Fact fact = say(counts ? "E-scaled/several-times" : "E-scaled/measured", name);
  if (counts) fact.product = watched(shapes.front(), {{}, {.factor = factors.front()}});
  return fact;
}

std::optional<Fact> find_carried_sum(const std::vector<DenseRun>& runs) {
  // The distance to that output, in flat elements or in (b, m, h, w).
  struct Step {
    bool flat;
    std::int64_t by;
    Label delta;
    bool stored;  ///< its stored value, not its right sum
  };
  const auto other = [](const ConvShape& s, std::int64_t o, const Step& step) -> std::int64_t {
    if (step.flat) return o + step.by >= 0 && o + step.by < s.output_size() ? o + step.by : -1;
    Label at = output_label(s, o);
    at.b += step.delta.b, at.m += step.delta.m, at.h += step.delta.h, at.w += step.delta.w;
    const bool inside = at.b >= 0 && at.b < s.batch && at.m >= 0 && at.m < s.out_channels &&
                        at.h >= 0 && at.h < s.out_height() && at.w >= 0 && at.w < s.out_width();
    return inside ? output_index(s, at) : -1;
  };
  const auto explains = [&](const DenseRun& run, const Step& step) {
    bool any = false;
    for (std::size_t i = 0; i < run.right.size(); ++i) {
      const std::int64_t from = other(run.shape, static_cast<std::int64_t>(i), step);
      const double more = static_cast<double>(run.answer.output[i]) - run.right[i];
      if (more == 0.0) {
        if (from >= 0) return false;
        continue;
      }
      if (from < 0) return false;
      const auto at = static_cast<std::size_t>(from);
      const double value = step.stored ? static_cast<double>(run.answer.output[at]) : run.right[at];
      if (!(more == value)) return false;
      any = true;
    }
    return any;
  };
  const DenseRun& first = runs.front();
  std::size_t wrong = first.right.size();
  while (wrong > 0 && !first.is_wrong(wrong - 1)) --wrong;
  if (wrong-- == 0) return std::nullopt;
  const double more = static_cast<double>(first.answer.output[wrong]) - first.right[wrong];
  const Label at = output_label(first.shape, static_cast<std::int64_t>(wrong));
  for (std::size_t i = 0; i < first.right.size(); ++i) {
    for (const bool stored : {true, false}) {
      const double value = stored ? static_cast<double>(first.answer.output[i]) : first.right[i];
      if (i == wrong || !(value == more)) continue;
      const Label from = output_label(first.shape, static_cast<std::int64_t>(i));
      for (const bool flat : {true, false}) {
        const Step step{flat,
                        static_cast<std::int64_t>(i) - static_cast<std::int64_t>(wrong),
                        {from.b - at.b, from.m - at.m, from.h - at.h, from.w - at.w},
                        stored};
        if (!std::all_of(runs.begin(), runs.end(),
                         [&](const DenseRun& run) { return explains(run, step); })) {
          continue;
        }
        const auto moved = [](const char* name, int by) {
          return std::string(name) +
                 (by == 0 ? "" : (by < 0 ? " - " : " + ") + std::to_string(std::abs(by)));
        };
        const std::string which =
            flat && std::abs(step.by) == 1
                ? std::string("the output ") + (step.by < 0 ? "before" : "after") + " it in memory"
                : "output (" + moved("b", step.delta.b) + ", " + moved("m", step.delta.m) + ", " +
                      moved("h", step.delta.h) + ", " + moved("w", step.delta.w) + ")";
        Fact fact = told("E-sum-kept/measured", {stored ? "the stored value" : "the sum", which});
        fact.measured += neighbourhood(first);
        return fact;
      }
    }
  }
  return std::nullopt;
}

}  // namespace convlab::grader::probe
