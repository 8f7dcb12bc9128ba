#include "grader/checks/probe/explanation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

#include "common/serve/finding_texts.hpp"
#include "grader/checks/probe/terms.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader::probe {

bool DenseRun::is_unwritten(std::size_t output) const {
  return std::bit_cast<std::uint32_t>(answer.output[output]) == oracle::kPoisonBits;
}

bool DenseRun::is_wrong(std::size_t output) const {
  return !(static_cast<double>(answer.output[output]) == right[output]);
}

bool DenseRun::is_right() const {
  return has_numbers() && std::ranges::equal(right, answer.output, [](double sum, float got) {
           return sum == static_cast<double>(got);
         });
}

std::vector<double> right_sums(const ConvShape& shape, const Numbers& input,
                               const Numbers& weights) {
  return oracle::exact_sums(shape, input.begin(), weights.begin());
}

DenseRun run_dense(Program& program, const ConvShape& shape, std::uint64_t seed, float unit) {
  return run_whole(program, shape, program.few_bits ? 15 : 2047, program.few_bits ? 3 : 8, seed,
                   unit);
}

DenseRun run_whole(Program& program, const ConvShape& shape, int most_input, int most_weight,
                   std::uint64_t seed, float unit) {
  DenseRun run{.shape = shape,
               .input = Numbers(shape.input_size()),
               .weights = Numbers(shape.weights_size())};
  std::mt19937_64 engine(seed);
  const auto fill = [&](Numbers& numbers, int most) {
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      const auto number = static_cast<float>(1 + engine() % static_cast<unsigned>(most));
      numbers[i] = unit * (engine() % 2 == 0 ? number : -number);
    }
  };
  fill(run.input, most_input);
  fill(run.weights, most_weight);
  run.right = right_sums(shape, run.input, run.weights);
  run.answer = program.run(shape, run.input, run.weights);
  // A transform in single precision comes near whole numbers.
  for (std::size_t i = 0; i < run.answer.output.size(); ++i) {
    float& got = run.answer.output[i];
    if (std::abs(static_cast<double>(got) - run.right[i]) < kNearlyRight * unit * unit) {
      got = static_cast<float>(run.right[i]);
    }
  }
  return run;
}

Explanation told(const std::string& name, const std::vector<std::string>& values) {
  Explanation fact;
  static_cast<Finding&>(fact) = said(name, values);
  return fact;
}

std::string number(std::int64_t value) {
  return std::to_string(value);
}

std::string real(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string output_text(const Label& at) {
  return "(b=" + number(at.b) + ", m=" + number(at.m) + ", h=" + number(at.h) +
         ", w=" + number(at.w) + ")";
}

std::string pixel_text(const ConvShape& s, std::int64_t index) {
  const std::string element = "input[" + number(index) + "]";
  if (index < 0 || index >= s.input_size()) return element + ", outside";
  const std::int64_t plane = index / s.width / s.height;
  return element + " (b=" + number(plane / s.in_channels) + ", c=" + number(plane % s.in_channels) +
         ", row " + number(index / s.width % s.height) + ", column " + number(index % s.width) +
         ")";
}

std::string weight_text(const ConvShape& s, std::int64_t index) {
  const std::string element = "weights[" + number(index) + "]";
  if (index < 0 || index >= s.weights_size()) return element + ", outside";
  const std::int64_t plane = index / s.kernel / s.kernel;
  return element + " (m=" + number(plane / s.in_channels) + ", c=" + number(plane % s.in_channels) +
         ", p=" + number(index / s.kernel % s.kernel) + ", q=" + number(index % s.kernel) + ")";
}

std::string shapes_text(const std::vector<ConvShape>& shapes) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (const ConvShape& shape : shapes) {
    if (names.size() < kNamed) names.push_back(to_string(shape));
  }
  const std::size_t more = shapes.size() - names.size();
  if (more > 0) names.push_back(std::to_string(more) + " more");
  return joined(names, " and ");
}

std::string sentence(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string picture(const ConvShape& s, std::int64_t plane, const std::set<std::int64_t>& right,
                    const std::set<std::int64_t>& found) {
  int top = s.height, bottom = -1, left = s.width, end = -1;
  for (const auto* pixels : {&right, &found}) {
    for (const std::int64_t index : *pixels) {
      if (index < 0 || index / s.width / s.height != plane) continue;
      const auto row = static_cast<int>(index / s.width % s.height);
      const auto column = static_cast<int>(index % s.width);
      top = std::min(top, row), bottom = std::max(bottom, row);
      left = std::min(left, column), end = std::max(end, column);
    }
  }
  top = std::max(0, top - 1), bottom = std::min(s.height - 1, bottom + 1);
  left = std::max(0, left - 1), end = std::min(s.width - 1, end + 1);
  constexpr int kMost = 16;
  if (bottom - top >= kMost || end - left >= kMost) return {};
  const std::string gap(4, ' ');
  const std::string title = "expected";
  const std::size_t width =
      std::max(title.size(), static_cast<std::size_t>(2 * (end - left) + 1)) + gap.size();
  std::string text = "\n" + gap + title + std::string(width - title.size(), ' ') + "found";
  for (int row = top; row <= bottom; ++row) {
    std::string line;
    for (const auto* pixels : {&right, &found}) {
      line.resize(line.empty() ? 0 : width, ' ');
      for (int column = left; column <= end; ++column) {
        const std::int64_t index = (plane * s.height + row) * s.width + column;
        line += std::string(pixels->contains(index) ? "#" : ".") + (column < end ? " " : "");
      }
    }
    text += "\n" + gap + line;
  }
  return text;
}

std::string neighbourhood(const DenseRun& run) {
  const ConvShape& s = run.shape;
  if (run.is_right()) return {};
  const Label at = output_label(s, first_wrong(run).output);
  constexpr int kAround = 1;
  constexpr int kColumns = 3;  // more do not fit into a line
  const int left = std::max(0, std::min(at.w - 1, s.out_width() - kColumns));
  const int right = std::min(s.out_width(), left + kColumns);
  std::string text = "\nAround output " + output_text(at) + " of " + to_string(s) +
                     ", with other numbers, expected and found:";
  for (int h = std::max(0, at.h - kAround); h <= std::min(s.out_height() - 1, at.h + kAround);
       ++h) {
    std::string expected;
    std::string found;
    for (int w = left; w < right; ++w) {
      const auto i = static_cast<std::size_t>(output_index(s, {at.b, at.m, h, w}));
      const auto cell = [](const std::string& number) {
        constexpr std::size_t kWidth = 10;
        return std::string(kWidth - std::min(kWidth, number.size()), ' ') + number;
      };
      // At most nine characters, but for very small and very large numbers.
      expected += cell(real(run.right[i], 6));
      found += cell(run.is_unwritten(i) ? "-" : real(double{run.answer.output[i]}, 6));
    }
    text += "\n    h=" + number(h) + expected + "  |" + found;
  }
  return text;
}

}  // namespace convlab::grader::probe
