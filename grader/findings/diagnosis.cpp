#include "grader/findings/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "grader/findings/catalogue.hpp"
#include "grader/findings/course_findings.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

namespace {

using Floats = std::vector<float>;
using Counts = std::vector<std::int64_t>;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

/// A usual mistake, as other arrays or another shape: right loops over those give the wrong output.
struct Mistake {
  const char* id;
  std::function<bool(const ConvShape&)>
      shows;  ///< whether the mistake changes the output at this shape
  std::function<void(const ConvShape&, Floats& input, Floats& weights)> make;
};

// The weights with another index: to(m, c, p, q) is where the loops would read.
template <class Index>
void reindex_weights(const ConvShape& s, Floats& weights, const Index& from) {
  const Floats right = weights;
  std::size_t to = 0;
  for (int m = 0; m < s.out_channels; ++m) {
    for (int c = 0; c < s.in_channels; ++c) {
      for (int p = 0; p < s.kernel; ++p) {
        for (int q = 0; q < s.kernel; ++q, ++to) {
          weights[to] = right[static_cast<std::size_t>(from(m, c, p, q))];
        }
      }
    }
  }
}

std::int64_t weight_index(const ConvShape& s, int m, int c, int p, int q) {
  return ((std::int64_t{m} * s.in_channels + c) * s.kernel + p) * s.kernel + q;
}

void keep_channel(const ConvShape& s, Floats& weights, int kept) {
  const auto window = static_cast<std::size_t>(s.kernel) * s.kernel;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto channel = static_cast<int>(i / window % static_cast<std::size_t>(s.in_channels));
    if (channel != kept) weights[i] = 0.0f;
  }
}

const std::vector<Mistake>& usual_mistakes() {
  const auto has_kernel = [](const ConvShape& s) { return s.kernel > 1; };
  const auto has_maps = [](const ConvShape& s) { return s.out_channels > 1; };
  const auto has_channels = [](const ConvShape& s) { return s.in_channels > 1; };
  static const std::vector<Mistake> mistakes = {
      {"E-transposed-weights", has_kernel,
       [](const ConvShape& s, Floats&, Floats& weights) {
         reindex_weights(s, weights,
                         [&](int m, int c, int p, int q) { return weight_index(s, m, c, q, p); });
       }},
      {"E-flipped-weights", has_kernel,
       [](const ConvShape& s, Floats&, Floats& weights) {
         reindex_weights(s, weights, [&](int m, int c, int p, int q) {
           return weight_index(s, m, c, s.kernel - 1 - p, s.kernel - 1 - q);
         });
       }},
      {"E-weights-order",
       [](const ConvShape& s) { return s.out_channels > 1 && s.in_channels > 1; },
       [](const ConvShape& s, Floats&, Floats& weights) {
         reindex_weights(s, weights, [&](int m, int c, int p, int q) {
           return ((std::int64_t{c} * s.out_channels + m) * s.kernel + p) * s.kernel + q;
         });
       }},
      {"E-first-map", has_maps,
       [](const ConvShape& s, Floats&, Floats& weights) {
         reindex_weights(s, weights,
                         [&](int, int c, int p, int q) { return weight_index(s, 0, c, p, q); });
       }},
      {"E-first-channel", has_channels,
       [](const ConvShape& s, Floats&, Floats& weights) { keep_channel(s, weights, 0); }},
      {"E-last-channel", has_channels,
       [](const ConvShape& s, Floats&, Floats& weights) {
         keep_channel(s, weights, s.in_channels - 1);
       }},
      {"E-first-image", [](const ConvShape& s) { return s.batch > 1; },
       [](const ConvShape& s, Floats& input, Floats&) {
         for (int b = 1; b < s.batch; ++b) {
           std::copy_n(input.begin(), s.input_image_size(),
                       input.begin() + b * s.input_image_size());
         }
       }},
      {"E-height-width", [](const ConvShape& s) { return s.height != s.width; },
       [](const ConvShape& s, Floats& input, Floats&) {
         const Floats right = input;
         const std::int64_t last = s.input_size() - 1;
         std::size_t to = 0;
         for (std::int64_t plane = 0; plane < std::int64_t{s.batch} * s.in_channels; ++plane) {
           for (int row = 0; row < s.height; ++row) {
             for (int column = 0; column < s.width; ++column, ++to) {
               const std::int64_t from =
                   (plane * s.width + row) * s.height + column;  // H and W exchanged
               input[to] = right[static_cast<std::size_t>(std::min(from, last))];
             }
           }
         }
       }},
  };
  return mistakes;
}

bool explains(const Mistake& mistake, const WrongOutput& wrong) {
  const ConvShape& shape = wrong.shape;
  if (!mistake.shows(shape)) return false;
  Floats input(wrong.arrays.input, wrong.arrays.input + shape.input_size());
  Floats weights(wrong.arrays.weights, wrong.arrays.weights + shape.weights_size());
  mistake.make(shape, input, weights);
  return oracle::compare(shape, input.data(), weights.data(), wrong.arrays.output, wrong.tolerance)
      .passed(shape);
}

// The window moves by one pixel, so the output is a corner of the output at stride 1.
bool ignores_stride(const WrongOutput& wrong) {
  const ConvShape& shape = wrong.shape;
  if (shape.stride == 1) return false;
  ConvShape dense = shape;
  dense.stride = 1;
  bool same = true;
  oracle::for_each_image(
      dense, wrong.arrays.input, wrong.arrays.weights,
      [&](int image, std::span<const double> values, std::span<const double> magnitudes) {
        bool image_same = true;
        const float* output = wrong.arrays.output + image * shape.output_image_size();
        for (int m = 0; m < shape.out_channels; ++m) {
          for (int h = 0; h < shape.out_height(); ++h) {
            for (int w = 0; w < shape.out_width(); ++w, ++output) {
              const auto at = static_cast<std::size_t>(
                  (std::int64_t{m} * dense.out_height() + h) * dense.out_width() + w);
              constexpr double kClose = 1e-4;
              const double error = std::abs(static_cast<double>(*output) - values[at]);
              image_same = image_same && error <= kClose * magnitudes[at];
            }
          }
        }
        if (!image_same) {
#pragma omp atomic write
          same = false;
        }
      });
  return same;
}

std::int64_t sum(const Counts& counts, std::size_t begin, std::size_t end) {
  return std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(begin),
                         counts.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{0});
}

// Wrong only in the last one or two rows or columns, and nearly everywhere there.
bool at_the_end(const Counts& counts, std::int64_t per_line) {
  if (counts.size() < 4) return false;
  const std::int64_t inner = sum(counts, 0, counts.size() - 2);
  return inner == 0 && counts.back() * 2 > per_line;
}

bool some_are_right(const Counts& counts) {
  return std::any_of(counts.begin(), counts.end(), [](std::int64_t n) { return n == 0; });
}

// Wrong elements lie in the last rows, the last columns, or both; the rest is right.
bool only_at_borders(const ConvShape& shape, const oracle::ErrorReport& report) {
  if (report.wrong == shape.output_size()) return false;  // a tiny output is all border
  const std::int64_t row = shape.output_size() / shape.out_height();
  const std::int64_t column = shape.output_size() / shape.out_width();
  if (at_the_end(report.wrong_in_row, row) || at_the_end(report.wrong_in_column, column)) {
    return true;
  }
  // Both: nothing else is wrong. The corner counts twice.
  const std::int64_t in_last_row = report.wrong_in_row.back();
  const std::int64_t in_last_column = report.wrong_in_column.back();
  const std::int64_t corner = std::int64_t{shape.batch} * shape.out_channels;
  const std::int64_t both = in_last_row + in_last_column;
  return in_last_row * 2 > row && in_last_column * 2 > column && report.wrong <= both &&
         report.wrong >= both - corner;
}

bool most_are_wrong(const Counts& counts) {
  const auto wrong = std::count_if(counts.begin(), counts.end(), [](auto n) { return n > 0; });
  return 2 * wrong > static_cast<std::ptrdiff_t>(counts.size());
}

// The tightest class that the output would have met. The bound of sums in halves is so wide that a
// few wrong taps stay within it; but those lie somewhere, and rounding errors lie everywhere.
std::optional<Precision> looser_class(const WrongOutput& wrong) {
  const oracle::ErrorReport& report = wrong.report;
  if (wrong.tolerance.bound == 0.0 || report.not_finite > 0) return std::nullopt;
  const bool everywhere =
      most_are_wrong(report.wrong_in_image) && most_are_wrong(report.wrong_in_map) &&
      most_are_wrong(report.wrong_in_row) && most_are_wrong(report.wrong_in_column);
  for (const Precision precision : {Precision::kTf32, Precision::kBf16, Precision::kFp16Sums}) {
    const double bound = oracle::error_bound(precision);
    if (bound <= wrong.tolerance.bound || report.worst_ratio > bound) continue;
    if (precision == Precision::kTf32 || everywhere) return precision;
  }
  return std::nullopt;
}

// The id that the pattern of the whole report suggests.
std::string id_of_pattern(const WrongOutput& wrong) {
  const ConvShape& shape = wrong.shape;
  const oracle::ErrorReport& report = wrong.report;
  if (report.unwritten == shape.output_size()) return "E-never-written";
  if (leaves_out_last_tile(wrong)) return "E-rounded-down";
  if (report.unwritten > 0 && report.unwritten == report.wrong) return "E-partly-written";
  if (report.not_finite > 0) return "E-nan";
  if (looser_class(wrong)) return "E-precision";
  if (only_at_borders(shape, report)) return "E-borders";
  if (report.wrong_in_image.front() == 0 && some_are_right(report.wrong_in_image)) {
    return "E-images";
  }
  if (some_are_right(report.wrong_in_map)) return "E-maps";
  if (some_are_right(report.wrong_in_row) || some_are_right(report.wrong_in_column)) {
    return "E-blocks";
  }
  return "E-wrong";
}

}  // namespace

std::string describe(const ConvShape& shape, const oracle::ErrorReport& report) {
  std::string text = std::to_string(report.wrong) + " of " + std::to_string(shape.output_size()) +
                     " elements are wrong.";
  if (!report.first) return text;
  const oracle::Mismatch& first = *report.first;
  const bool unwritten = report.unwritten == report.wrong;
  return text + " The first: image b=" + std::to_string(first.image) +
         ", map m=" + std::to_string(first.map) + ", row h=" + std::to_string(first.row) +
         ", column w=" + std::to_string(first.column) + ": expected " + number(first.expected) +
         ", got " +
         (unwritten ? "nothing: it still holds what the grader put there"
                    : number(static_cast<double>(first.got))) +
         ".";
}

Finding diagnose(const WrongOutput& wrong, const std::string& where) {
  const std::string seen = "In " + where + ": " + describe(wrong.shape, wrong.report);
  // Each try costs a convolution.
  constexpr std::int64_t kAffordable = 200'000'000;
  if (wrong.report.not_finite == 0 && wrong.shape.multiply_adds() < kAffordable) {
    for (const Mistake& mistake : usual_mistakes()) {
      if (explains(mistake, wrong)) return finding(mistake.id, seen);
    }
    if (ignores_stride(wrong)) return finding("E-stride", seen);
  }
  const std::string id = id_of_pattern(wrong);
  if (id != "E-precision") return finding(id, seen);
  return finding(id, seen + " The largest error fits " + describe(*looser_class(wrong)) + ".");
}

}  // namespace convlab::grader
