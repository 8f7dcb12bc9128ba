#include "grader/checks/probe/terms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <unordered_map>
#include <utility>

#include "reference/oracle/comparison.hpp"

namespace convlab::grader::probe {

std::int64_t input_index(const ConvShape& s, const Label& at) {
  return ((std::int64_t{at.b} * s.in_channels + at.c) * s.height + at.h * s.stride + at.p) *
             s.width +
         at.w * s.stride + at.q;
}

std::int64_t weight_index(const ConvShape& s, const Label& at) {
  return ((std::int64_t{at.m} * s.in_channels + at.c) * s.kernel + at.p) * s.kernel + at.q;
}

std::int64_t output_index(const ConvShape& s, const Label& at) {
  return ((std::int64_t{at.b} * s.out_channels + at.m) * s.out_height() + at.h) * s.out_width() +
         at.w;
}

// Of a flat index: the innermost one, of this size, which leaves the others.
static int taken(std::int64_t& index, int size) {
  const auto own = static_cast<int>(index % size);
  index /= size;
  return own;
}

Label output_label(const ConvShape& s, std::int64_t index) {
  Label at;
  at.w = taken(index, s.out_width());
  at.h = taken(index, s.out_height());
  at.m = taken(index, s.out_channels);
  at.b = static_cast<int>(index);
  return at;
}

namespace {

// Where the right loops multiply this weight for this output element; nothing if they do not.
std::optional<Label> label_by_weight(const ConvShape& s, std::int64_t output, std::int64_t weight) {
  Label at = output_label(s, output);
  at.q = taken(weight, s.kernel);
  at.p = taken(weight, s.kernel);
  at.c = taken(weight, s.in_channels);
  return weight == at.m ? std::optional(at) : std::nullopt;
}

std::optional<Label> label_by_pixel(const ConvShape& s, std::int64_t output, std::int64_t pixel) {
  if (pixel < 0 || pixel >= s.input_size()) return std::nullopt;
  Label at = output_label(s, output);
  at.q = taken(pixel, s.width) - at.w * s.stride;
  at.p = taken(pixel, s.height) - at.h * s.stride;
  at.c = taken(pixel, s.in_channels);
  const bool inside = at.p >= 0 && at.p < s.kernel && at.q >= 0 && at.q < s.kernel;
  return inside && pixel == at.b ? std::optional(at) : std::nullopt;
}

/// A different number for each element of an array and of its margins, and the way back.
class Codes {
 public:
  Codes(std::int64_t size, bool few_bits, std::uint64_t seed)
      : rounds_(few_bits ? 2 : 1), size_(size) {
    // Two such numbers add up exactly.
    const std::uint64_t largest = few_bits ? 1023 : (1U << 23) - 1;
    std::mt19937_64 engine(seed);
    for (int round = 0; round < rounds_; ++round) numbers_.emplace_back(size);
    for (std::int64_t i = -Numbers::kMargin; i < size + Numbers::kMargin; ++i) {
      do {
        for (Numbers& numbers : numbers_) {
          numbers[i] = static_cast<float>(engine() % largest + 1);
        }
      } while (!places_.emplace(key(values_at(i)), i).second);
    }
  }

  [[nodiscard]] const std::vector<Numbers>& rounds() const { return numbers_; }

  struct Part {
    std::int64_t index = 0;
    double factor = 1.0;
  };

  /// The elements whose sum this is, one or two; empty if there are none, or others are as likely.
  /// @param value  in each round
  [[nodiscard]] std::vector<Part> parts_of(const std::array<double, 2>& value) const {
    if (const auto one = places_.find(key(value)); one != places_.end()) return {{one->second}};
    std::vector<double> factors = {-1.0, 0.5, 0.25};
    const int most_times = rounds_ == 2 ? 1024 : 64;  // with one round, more would hit by chance
    for (int times = 2; times <= most_times; ++times) factors.push_back(times);
    for (const double factor : factors) {
      const auto scaled = places_.find(key({value[0] / factor, value[1] / factor}));
      if (scaled != places_.end() && scaled->second >= 0 && scaled->second < size_) {
        return {{scaled->second, factor}};
      }
    }
    std::vector<Part> parts;
    for (std::int64_t i = 0; i < size_; ++i) {
      const auto own = values_at(i);
      const auto other = places_.find(key({value[0] - own[0], value[1] - own[1]}));
      if (other == places_.end() || other->second <= i || other->second >= size_) continue;
      if (!parts.empty()) return {};
      parts = {{i}, {other->second}};
    }
    return parts;
  }

 private:
  [[nodiscard]] std::array<double, 2> values_at(std::int64_t i) const {
    return {numbers_.front()[i], rounds_ == 2 ? numbers_.back()[i] : 0.0};
  }
  static std::int64_t key(const std::array<double, 2>& value) {
    constexpr double kShift = 0x1p26;
    const double joined = value[0] + kShift * value[1];
    // A fraction is no number of the table.
    return joined == std::floor(joined) && std::abs(joined) < 0x1p60
               ? static_cast<std::int64_t>(joined)
               : -1;
  }

  int rounds_;
  std::int64_t size_;
  std::vector<Numbers> numbers_{};
  std::unordered_map<std::int64_t, std::int64_t> places_{};
};

// Each element of `marked` is 1 once, all elements of the other array have their code. Pixels are
// marked in all images at the same time: each image is an experiment of its own.
std::optional<Terms> measure(Program& program, const ConvShape& shape, bool by_weight,
                             bool few_bits) {
  const std::int64_t marked = by_weight ? shape.weights_size() : shape.input_image_size();
  const std::int64_t images = by_weight ? 1 : shape.batch;
  const std::int64_t coded = by_weight ? shape.input_size() : shape.weights_size();
  constexpr std::uint64_t kSeed = 5;
  const Codes codes(coded, few_bits, kSeed);
  Terms found{.shape = shape};
  found.unwritten.assign(static_cast<std::size_t>(shape.output_size()), false);
  Numbers mark(marked * images);
  for (std::int64_t at = 0; at < marked; ++at) {
    for (std::int64_t b = 0; b < images; ++b) mark[b * marked + at] = 1.0F;
    std::vector<std::vector<float>> outputs;
    for (const Numbers& numbers : codes.rounds()) {
      Answer answer =
          by_weight ? program.run(shape, numbers, mark) : program.run(shape, mark, numbers);
      if (answer.kind != Answer::Kind::kNumbers) return std::nullopt;
      outputs.push_back(std::move(answer.output));
    }
    for (std::int64_t b = 0; b < images; ++b) mark[b * marked + at] = 0.0F;
    for (std::int64_t o = 0; o < shape.output_size(); ++o) {
      const auto i = static_cast<std::size_t>(o);
      if (std::bit_cast<std::uint32_t>(outputs.front()[i]) == oracle::kPoisonBits) {
        found.unwritten[i] = true;
        continue;
      }
      // Small numbers come out nearly whole from a transform, too.
      const auto whole = [&](float each) {
        const double nearest = std::round(static_cast<double>(each));
        return few_bits && std::abs(each - nearest) < 0.02 ? nearest : static_cast<double>(each);
      };
      const std::array<double, 2> value = {whole(outputs.front()[i]),
                                           few_bits ? whole(outputs.back()[i]) : 0.0};
      if (value[0] == 0.0 && value[1] == 0.0) continue;
      const auto parts = codes.parts_of(value);
      if (parts.empty()) ++found.unclear;
      for (const auto& part : parts) {
        found.terms.push_back(by_weight ? Term{o, part.index, at, part.factor}
                                        : Term{o, o / shape.output_image_size() * marked + at,
                                               part.index, part.factor});
      }
    }
  }
  return found;
}

}  // namespace

// Sums of many small numbers are exact where those of few large ones are not.
std::optional<Terms> measure(Program& program, const ConvShape& shape, bool by_weight) {
  auto terms = measure(program, shape, by_weight, program.few_bits);
  if (!by_weight || program.few_bits || !terms || terms->unclear == 0) return terms;
  return measure(program, shape, true, true);
}

std::size_t place_of(const ConvShape& s, const Label& at) {
  const int tap = (at.c * s.kernel + at.p) * s.kernel + at.q;
  return static_cast<std::size_t>(output_index(s, at) * s.taps() + tap);
}

std::vector<Label> all_products(const ConvShape& s) {
  std::vector<Label> labels;
  for (std::int64_t o = 0; o < s.output_size(); ++o) {
    Label at = output_label(s, o);
    for (at.c = 0; at.c < s.in_channels; ++at.c) {
      for (at.p = 0; at.p < s.kernel; ++at.p) {
        for (at.q = 0; at.q < s.kernel; ++at.q) labels.push_back(at);
      }
    }
  }
  return labels;
}

std::vector<LabelledTerms> labelled(const std::vector<Terms>& terms, bool by_weight) {
  std::vector<LabelledTerms> all;
  for (const Terms& measured : terms) {
    if (measured.unclear > 0) return {};
    const ConvShape& s = measured.shape;
    LabelledTerms& one =
        all.emplace_back(LabelledTerms{.shape = s, .unwritten = measured.unwritten});
    one.factors.assign(static_cast<std::size_t>(s.output_size() * s.taps()), 0.0);
    for (const Term& term : measured.terms) {
      const auto at = by_weight ? label_by_weight(s, term.output, term.weight)
                                : label_by_pixel(s, term.output, term.pixel);
      if (!at) return {};
      one.terms.push_back({*at, term});
      one.factors[place_of(s, *at)] += term.factor;
    }
  }
  return all;
}

WrongProduct watched(const ConvShape& s, const Labelled& one) {
  WrongProduct product{.shape = s,
                       .output = output_index(s, one.at),
                       .pixel = input_index(s, one.at),
                       .weight = weight_index(s, one.at),
                       .factor = one.term.factor};
  if (one.term.pixel != product.pixel) product.other_pixel = one.term.pixel;
  if (one.term.weight != product.weight) product.other_weight = one.term.weight;
  return product;
}

bool is_right_product(const ConvShape& s, const Labelled& one) {
  return one.term.pixel == input_index(s, one.at) && one.term.weight == weight_index(s, one.at);
}

std::string window_picture(const LabelledTerms& terms, const Label& of) {
  const ConvShape& s = terms.shape;
  const std::int64_t plane = std::int64_t{of.b} * s.in_channels + of.c;
  std::set<std::int64_t> right;
  std::set<std::int64_t> found;
  for (int p = 0; p < s.kernel; ++p) {
    for (int q = 0; q < s.kernel; ++q) {
      right.insert(input_index(s, {of.b, of.m, of.h, of.w, of.c, p, q}));
    }
  }
  for (const Labelled& each : terms.terms) {
    if (each.term.output == output_index(s, of)) found.insert(each.term.pixel);
  }
  const std::string drawn = picture(s, plane, right, found);
  return drawn.empty()
             ? drawn
             : "Pixels of channel " + number(of.c) + " for output " + output_text(of) + ":" + drawn;
}

void show_example(Explanation& fact, const LabelledTerms& terms, const Labelled& one) {
  const ConvShape& s = terms.shape;
  const std::string right =
      weight_text(s, weight_index(s, one.at)) + " times " + pixel_text(s, input_index(s, one.at));
  const char* const what = one.term.factor == 0.0     ? "E-terms/misses"
                           : is_right_product(s, one) ? "E-terms/counts-often"
                                                      : "E-terms/uses";
  fact.seen += told(what, {to_string(s), output_text(one.at), right, real(one.term.factor),
                           weight_text(s, one.term.weight), pixel_text(s, one.term.pixel)})
                   .seen;
  fact.picture = window_picture(terms, one.at);
  fact.product = watched(s, one);
}

void show_wrong_product(Explanation& fact, const LabelledTerms& terms) {
  const auto wrong = std::ranges::find_if(
      terms.terms, [&](const Labelled& each) { return !is_right_product(terms.shape, each); });
  if (wrong != terms.terms.end()) show_example(fact, terms, *wrong);
}

}  // namespace convlab::grader::probe
