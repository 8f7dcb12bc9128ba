// Recognises the usual mistakes: computes the output that each of them gives, and compares.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "grader/findings/catalogue.hpp"
#include "grader/findings/diagnosis.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

namespace {

using Floats = std::vector<float>;

/// A usual mistake, expressed as other arrays or another shape: right loops over these give the
/// wrong output.
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

using Make = std::function<void(const ConvShape&, Floats&, Floats&)>;

// Without the taps for which left_out(p, q, kernel) holds.
template <class LeftOut>
Make filter_without(LeftOut left_out) {
  return [left_out](const ConvShape& s, Floats&, Floats& weights) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto tap = static_cast<int>(i % static_cast<std::size_t>(s.kernel * s.kernel));
      if (left_out(tap / s.kernel, tap % s.kernel, s.kernel)) weights[i] = 0.0f;
    }
  };
}

// Each pixel of each plane from another place, 0 where that lies outside.
template <class From>
void move_planes(const ConvShape& s, Floats& input, const From& from) {
  const Floats right = input;
  std::size_t to = 0;
  for (std::int64_t plane = 0; plane < std::int64_t{s.batch} * s.in_channels; ++plane) {
    for (int row = 0; row < s.height; ++row) {
      for (int column = 0; column < s.width; ++column, ++to) {
        const auto [r, c] = from(row, column);
        const bool inside = r >= 0 && c >= 0 && r < s.height && c < s.width;
        input[to] =
            inside ? right[static_cast<std::size_t>((plane * s.height + r) * s.width + c)] : 0.0f;
      }
    }
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
      {"E-first-channel", has_channels,  // c is missing from the index of the input
       [](const ConvShape& s, Floats& input, Floats&) {
         const std::int64_t plane = std::int64_t{s.height} * s.width;
         for (std::int64_t b = 0; b < s.batch; ++b) {
           const auto first = input.begin() + b * s.in_channels * plane;
           for (int c = 1; c < s.in_channels; ++c) std::copy_n(first, plane, first + c * plane);
         }
       }},
      {"E-first-channel", has_channels,  // or from that of the weights
       [](const ConvShape& s, Floats&, Floats& weights) {
         reindex_weights(s, weights,
                         [&](int m, int, int p, int q) { return weight_index(s, m, 0, p, q); });
       }},
      {"E-last-channel", has_channels,
       [](const ConvShape& s, Floats&, Floats& weights) {
         keep_channel(s, weights, s.in_channels - 1);
       }},
      {"E-last-tap", [](const ConvShape& s) { return s.in_channels * s.kernel > 1; },
       [](const ConvShape& s, Floats&, Floats& weights) {
         const std::int64_t taps = weight_index(s, 1, 0, 0, 0);
         for (std::size_t i = 0; i < weights.size(); ++i) {
           if ((static_cast<std::int64_t>(i) + 1) % taps != 0) weights[i] = 0.0f;
         }
       }},
      {"E-stored-early", [](const ConvShape& s) { return s.in_channels * s.kernel > 1; },
       [](const ConvShape& s, Floats&, Floats& weights) {
         const std::int64_t taps = weight_index(s, 1, 0, 0, 0);
         for (std::size_t i = 0; i < weights.size(); ++i) {
           if ((static_cast<std::int64_t>(i) + 1) % taps == 0) weights[i] = 0.0f;
         }
       }},
      {"E-filter-edge", has_kernel, filter_without([](int p, int, int k) { return p == k - 1; })},
      {"E-filter-edge", has_kernel, filter_without([](int, int q, int k) { return q == k - 1; })},
      {"E-filter-edge", has_kernel,
       filter_without([](int p, int q, int k) { return p == k - 1 || q == k - 1; })},
      {"E-filter-edge", has_kernel, filter_without([](int p, int, int) { return p == 0; })},
      {"E-filter-edge", has_kernel, filter_without([](int, int q, int) { return q == 0; })},
      {"E-filter-edge", has_kernel,
       filter_without([](int p, int q, int) { return p == 0 || q == 0; })},
      {"E-padding", has_kernel,
       [](const ConvShape& s, Floats& input, Floats&) {
         move_planes(s, input, [&](int row, int column) {
           return std::pair(row - s.kernel / 2, column - s.kernel / 2);
         });
       }},
      {"E-rows-columns", [](const ConvShape& s) { return s.height == s.width && s.kernel > 1; },
       [](const ConvShape& s, Floats& input, Floats&) {
         move_planes(s, input, [](int row, int column) { return std::pair(column, row); });
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

constexpr double kClose = 1e-4;  // of the sum of absolute products

/// Compares each output element with one of the right output of another shape.
/// @param shape  of the right output that the elements are looked for in
/// @param same   (m, h, w, the element, right values and magnitudes of the image)
template <class Same>
bool all_images(const WrongOutput& wrong, const ConvShape& shape, const float* weights,
                const Same& same) {
  bool all = true;
  oracle::for_each_image(
      shape, wrong.arrays.input, weights,
      [&](int image, std::span<const double> values, std::span<const double> magnitudes) {
        bool image_same = true;
        const float* output = wrong.arrays.output + image * wrong.shape.output_image_size();
        for (int m = 0; m < wrong.shape.out_channels && image_same; ++m) {
          for (int h = 0; h < wrong.shape.out_height() && image_same; ++h) {
            for (int w = 0; w < wrong.shape.out_width() && image_same; ++w, ++output) {
              image_same = same(m, h, w, *output, values, magnitudes);
            }
          }
        }
        if (!image_same) {
#pragma omp atomic write
          all = false;
        }
      });
  return all;
}

bool is_close(float output, std::int64_t at, std::span<const double> values,
              std::span<const double> magnitudes) {
  const auto i = static_cast<std::size_t>(at);
  return std::abs(static_cast<double>(output) - values[i]) <= kClose * magnitudes[i];
}

// The window moves by one pixel in one direction or both, so the output is a part of the output at
// stride 1.
bool ignores_stride(const WrongOutput& wrong) {
  const ConvShape& shape = wrong.shape;
  if (shape.stride == 1) return false;
  ConvShape dense = shape;
  dense.stride = 1;
  for (const auto& [down, across] :
       {std::pair{1, 1}, std::pair{1, shape.stride}, std::pair{shape.stride, 1}}) {
    const auto at = [&, down = down, across = across](int m, int h, int w, float output,
                                                      auto values, auto magnitudes) {
      return is_close(
          output,
          (std::int64_t{m} * dense.out_height() + h * down) * dense.out_width() + w * across,
          values, magnitudes);
    };
    if (all_images(wrong, dense, wrong.arrays.weights, at)) return true;
  }
  return false;
}

// The stride moves the taps of the filter apart instead of the windows: h + p · stride.
bool spreads_filter(const WrongOutput& wrong) {
  const ConvShape& s = wrong.shape;
  ConvShape spread = s;
  spread.kernel = (s.kernel - 1) * s.stride + 1;
  spread.stride = 1;
  if (s.stride == 1 || s.kernel == 1 || spread.kernel > std::min(s.height, s.width)) return false;
  if (spread.out_height() < s.out_height() || spread.out_width() < s.out_width()) return false;
  Floats weights(static_cast<std::size_t>(spread.weights_size()), 0.0f);
  std::size_t from = 0;
  for (int m = 0; m < s.out_channels; ++m) {
    for (int c = 0; c < s.in_channels; ++c) {
      for (int p = 0; p < s.kernel; ++p) {
        for (int q = 0; q < s.kernel; ++q, ++from) {
          weights[static_cast<std::size_t>(
              weight_index(spread, m, c, p * s.stride, q * s.stride))] = wrong.arrays.weights[from];
        }
      }
    }
  }
  return all_images(wrong, spread, weights.data(),
                    [&](int m, int h, int w, float output, auto values, auto magnitudes) {
                      return is_close(
                          output,
                          (std::int64_t{m} * spread.out_height() + h) * spread.out_width() + w,
                          values, magnitudes);
                    });
}

// The inputs of a tile begin at its first output, without the stride; within it the stride is
// right.
bool begins_tiles_without_stride(const WrongOutput& wrong) {
  const ConvShape& s = wrong.shape;
  constexpr int kSmallest = 8;
  if (s.stride == 1 || s.out_height() <= kSmallest) return false;
  // Puts all windows side by side: the values that the mistake would read become an input.
  ConvShape apart = s;
  apart.height = s.out_height() * s.kernel;
  apart.width = s.out_width() * s.kernel;
  apart.stride = s.kernel;
  Floats input(static_cast<std::size_t>(apart.input_size()));
  for (const int tile : {kSmallest, 16, 32}) {
    for (const auto& [down, across] : {std::pair{1, 1}, std::pair{1, 0}, std::pair{0, 1}}) {
      const auto from = [&, tile = tile](int at, bool mistaken) {
        const int out = at / s.kernel;
        const int first = out / tile * tile * (mistaken ? 1 : s.stride);
        return first + out % tile * s.stride + at % s.kernel;
      };
      std::size_t to = 0;
      for (std::int64_t plane = 0; plane < std::int64_t{s.batch} * s.in_channels; ++plane) {
        for (int row = 0; row < apart.height; ++row) {
          for (int column = 0; column < apart.width; ++column, ++to) {
            const std::int64_t r = from(row, down == 1);
            const std::int64_t c = from(column, across == 1);
            input[to] = wrong.arrays.input[(plane * s.height + r) * s.width + c];
          }
        }
      }
      if (oracle::compare(apart, input.data(), wrong.arrays.weights, wrong.arrays.output,
                          wrong.tolerance)
              .passed(apart)) {
        return true;
      }
    }
  }
  return false;
}

// Negative sums are stored as 0, which is the work of the next layer.
bool cuts_negatives(const WrongOutput& wrong) {
  const ConvShape& s = wrong.shape;
  return all_images(wrong, s, wrong.arrays.weights,
                    [&](int m, int h, int w, float output, auto values, auto magnitudes) {
                      const std::int64_t at =
                          (std::int64_t{m} * s.out_height() + h) * s.out_width() + w;
                      if (values[static_cast<std::size_t>(at)] < 0.0) return output == 0.0f;
                      return is_close(output, at, values, magnitudes);
                    });
}

// Every sum is the right one times the same number. @return the number, 0 if there is none
double common_factor(const WrongOutput& wrong) {
  const ConvShape& s = wrong.shape;
  constexpr std::int64_t kEnough = 9;  // few elements agree by chance
  if (!wrong.report.first || wrong.report.first->expected == 0.0 || s.output_size() < kEnough ||
      s.weights_size() == 1) {  // a single wrong weight is a factor, too
    return 0.0;
  }
  const double factor = static_cast<double>(wrong.report.first->got) / wrong.report.first->expected;
  constexpr double kSmallest = 1e-4;
  if (!(std::abs(factor) > kSmallest)) return 0.0;
  const bool all = all_images(
      wrong, s, wrong.arrays.weights,
      [&](int m, int h, int w, float output, auto values, auto magnitudes) {
        const std::int64_t at = (std::int64_t{m} * s.out_height() + h) * s.out_width() + w;
        return is_close(static_cast<float>(static_cast<double>(output) / factor), at, values,
                        magnitudes);
      });
  return all ? factor : 0.0;
}

std::string factor_text(const ConvShape& s, double factor) {
  std::ostringstream text;
  text << std::setprecision(4) << factor;
  constexpr double kSame = 1e-3;
  const auto is_part = [&](int taps) { return std::abs(factor * taps - 1.0) < kSame; };
  if (is_part(s.in_channels * s.kernel * s.kernel)) {
    text << ", which is 1 / (C·K·K)";
  } else if (is_part(s.kernel * s.kernel)) {
    text << ", which is 1 / (K·K)";
  } else if (is_part(s.in_channels)) {
    text << ", which is 1 / C";
  }
  return text.str();
}

// Every element is right but stored in another place: b and m exchanged, in the batch or in slices
// of it, or h and w.
bool stores_elsewhere(const WrongOutput& wrong) {
  const ConvShape& s = wrong.shape;
  if (s.kernel == 1) return false;  // as if the input were transposed
  const std::int64_t rows = s.out_height();
  const std::int64_t columns = s.out_width();
  const std::int64_t pixels = rows * columns;
  Floats moved(static_cast<std::size_t>(s.output_size()));
  constexpr int kMostSlices = 8;
  const auto b_and_m = [&](std::int64_t b, std::int64_t m, std::int64_t slice) {
    const std::int64_t first = b / slice * slice;
    const std::int64_t images = std::min<std::int64_t>(slice, s.batch - first);
    return first * s.out_channels + m * images + b - first;
  };
  constexpr std::int64_t kPixels = 0;  // h and w are exchanged; else the images of a slice
  std::vector<std::int64_t> slices = {kPixels, s.batch};
  for (int slice = 2; s.batch <= kMostSlices && slice < s.batch; ++slice) slices.push_back(slice);
  for (const std::int64_t slice : slices) {
    for (std::int64_t i = 0; i < s.output_size(); ++i) {
      const std::int64_t plane = i / pixels;
      const std::int64_t b = plane / s.out_channels;
      const std::int64_t m = plane % s.out_channels;
      const std::int64_t pixel = i % pixels;
      const std::int64_t at = slice == kPixels
                                  ? plane * pixels + pixel % columns * rows + pixel / columns
                                  : b_and_m(b, m, slice) * pixels + pixel;
      moved[static_cast<std::size_t>(i)] = wrong.arrays.output[at];
    }
    if (oracle::compare(s, wrong.arrays.input, wrong.arrays.weights, moved.data(), wrong.tolerance)
            .passed(s)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Finding> recognise(const WrongOutput& wrong, const std::string& where) {
  // Each try costs a convolution.
  constexpr std::int64_t kAffordable = 200'000'000;
  if (wrong.report.not_finite > 0 || wrong.shape.multiply_adds() >= kAffordable) {
    return std::nullopt;
  }
  const std::string seen = "In " + where + ": " + describe(wrong.shape, wrong.report);
  for (const Mistake& mistake : usual_mistakes()) {
    if (explains(mistake, wrong)) return finding(mistake.id, seen);
  }
  if (ignores_stride(wrong) || spreads_filter(wrong)) return finding("E-stride", seen);
  if (begins_tiles_without_stride(wrong)) {
    Finding found = finding("E-stride", seen);
    found.title = "the stride is missing where a tile begins";
    found.cause = "The inputs of a tile begin at (its first output row) · stride, not at that row.";
    found.next = "Multiply the first row and the first column of the block by the stride.";
    return found;
  }
  if (wrong.report.wrong > 1 && cuts_negatives(wrong)) return finding("E-activation", seen);
  if (const double factor = common_factor(wrong); factor != 0.0) {
    return finding("E-scaled", seen + " Every element is the right sum times " +
                                   factor_text(wrong.shape, factor) + ".");
  }
  if (stores_elsewhere(wrong)) return finding("E-output-order", seen);
  return std::nullopt;
}

}  // namespace convlab::grader
