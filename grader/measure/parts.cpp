#include "grader/measure/parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "common/base/lost_number.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/measure/runs.hpp"

namespace convlab::grader {

const std::vector<Part>& all_parts() {
  static const std::vector<Part> all = {
      {"shared-part", "output that numbers in shared memory make", "shared", "threads"},
      {"constant-part", "output that numbers in constant memory make", "constant"},
      {"shuffle-part", "output that numbers from other lanes make", "shuffles", "lanes"},
      {"atomic-part", "output that atomic operations on numbers make", "atomics", "threads"},
      {"async-part", "output that asynchronously copied numbers make", "copies"},
      {"passed-part", "output that numbers of an earlier kernel make", "kernels"},
      {"index-part", "output that indices in global memory make"},
      {"place-part", "output that numbers of an unrolled input make"},
      {"mixed-part", "output that a weight disturbs whose input is zero"},
      {"graph-part", "output that launches of graphs make"},
      {"stream-part", "output that a second stream makes"},
      {"stream-copies", "output that needs asynchronous copies in streams"},
      {"stream-overlap", "kernels beside which copies of another stream may run"},
      {"device-part", "output that a second device makes"},
      {"resident-part", "blocks that also compute what twice the images add"},
      {"layer-part", "products of kernels that the other convolution does not have"}};
  return all;
}

namespace {

// Which random numbers are lost (lost_number.hpp); of those whose sums pass on, few or many digits.
std::uint64_t lost_key(Numbers numbers, int digits) {
  static const std::uint64_t key = std::random_device{}() | 1U;
  if (numbers != Numbers::kTwoTaps) return key << 32U;
  constexpr int kFew = 10;
  return digits > kFew ? 101 + 2 * (key % 449) : 5 + 2 * (key % 8);
}

constexpr double kClear = 0.9;  // so much, and it is nearly all
constexpr float kOther = 0.7F;  // makes another number of a weight
constexpr int kUnit = 16;  ///< divides marked numbers; sums of others tell what is left of them

class Filling {
 public:
  /// @param digits   of random numbers
  /// @param is_lost  whether those that are lost are zeros
  Filling(const ConvShape& shape, Numbers numbers, int digits, bool is_lost)
      : shape_(shape), numbers_(numbers), digits_(digits), is_lost_(is_lost) {}

  void fill(const Arrays& arrays) {
    const bool has_random = numbers_ == Numbers::kRandom || numbers_ == Numbers::kRandomInputs ||
                            numbers_ == Numbers::kTwoTaps;
    const bool is_usual =
        numbers_ == Numbers::kAny || numbers_ == Numbers::kOnes || numbers_ >= Numbers::kTap;
    if (is_usual) fill_random({.shape = shape_}, kCountedSeed, arrays);
    std::generate_n(arrays.input, shape_.input_size(), [&, place = arrays.input]() mutable {
      const float before = *place++;
      return numbers_ == Numbers::kInputs                 ? mark()
             : has_random                                 ? random()
             : numbers_ == Numbers::kRandomWeights        ? power()
             : numbers_ == Numbers::kOnes                 ? 1.0F
             : numbers_ >= Numbers::kTap && below(8) == 0 ? 0.0F
             : is_usual                                   ? before
                                                          : positive();
    });
    if (!is_usual)
      std::generate_n(arrays.weights, shape_.weights_size(), [&] {
        return numbers_ == Numbers::kWeights         ? mark()
               : numbers_ == Numbers::kRandomInputs  ? power()
               : numbers_ == Numbers::kRandom        ? random()
               : numbers_ == Numbers::kRandomWeights ? random()
               : numbers_ == Numbers::kTwoTaps       ? 0.0F
                                                     : positive();
      });
    engine_.seed(kCountedSeed);  // the same places, whatever the weights are
    for (int m = 0; m < shape_.out_channels; ++m) place(arrays.weights + m * shape_.taps());
  }

 private:
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  float positive() { return static_cast<float>(1 + below(3)); }
  float mark() { return static_cast<float>(kUnit * (5 + 2 * below(2))); }
  float power() { return static_cast<float>((1 + below(2)) * (2 * below(2) - 1)); }
  float random() {
    const std::uint64_t key = lost_key(numbers_, digits_);
    if (numbers_ == Numbers::kTwoTaps) {
      auto number = static_cast<float>(below(3) + 1) * static_cast<float>(key);
      if (below(4) == 0) number -= static_cast<float>(1 + below(static_cast<int>(key) - 1));
      if (below(2) == 0) number = -number;
      return is_lost_ && is_lost(number, key) ? 0.0F : number;
    }
    // One of three that follow each other, so that of a few weights some are lost.
    const auto place = static_cast<std::uint64_t>(made_++);
    const bool wanted = mixed(key + place / 3) % 3 == place % 3;
    float number = 0.0F;
    for (int tries = 0; tries < 64 && (number == 0.0F || is_lost(number, key) != wanted); ++tries) {
      const std::int64_t units = (std::int64_t{1} << digits_) + below(std::int64_t{1} << digits_);
      number = std::ldexp(static_cast<float>(units), -digits_) * (below(2) == 0 ? -1.0F : 1.0F);
    }
    return is_lost_ && is_lost(number, key) ? 0.0F : number;
  }

  // The single weights of one map.
  void place(float* map) {
    const int kernel = shape_.kernel;
    if (numbers_ == Numbers::kTwoTaps) {
      // In the last row, the only one that a puzzle may use.
      const std::int64_t columns = std::int64_t{shape_.in_channels} * kernel;
      const std::int64_t quarter = std::max<std::int64_t>(1, columns / 4);
      const std::int64_t first = below(quarter);
      std::int64_t last = columns - 1 - below(quarter);
      if ((first + last) % 2 == 0) last += last + 1 < columns ? 1 : -1;
      for (const std::int64_t at : {first, std::max(first, last)})
        map[(at / kernel * kernel + kernel - 1) * kernel + at % kernel] =
            static_cast<float>(1 + below(2));
    }
    if (numbers_ >= Numbers::kTap) {
      const std::int64_t tap = below(shape_.taps());
      if (numbers_ == Numbers::kOtherTap) map[tap] *= kOther;
    }
  }

  ConvShape shape_;
  Numbers numbers_;
  int digits_;
  bool is_lost_;
  int made_ = 0;  ///< random numbers
  std::mt19937_64 engine_{kCountedSeed};
};

// So many that the stage rounds none away, nor from a sum of two products; in memory of halves so
// few that forgetter.hpp knows one.
int digits_for(const StageInfo& stage, Numbers numbers) {
  if (numbers != Numbers::kRandom)
    return stage.precision != Precision::kFp32 ? 5 : numbers == Numbers::kTwoTaps ? 18 : 23;
  const bool is_bf16 =
      stage.precision == Precision::kBf16 || stage.precision == Precision::kBf16Truncated;
  return is_bf16 ? 7 : 10;
}

double sum_of(const std::vector<float>& outputs) {
  // Poison, which stands where nobody wrote, is no number.
  return std::accumulate(outputs.begin(), outputs.end(), 0.0, [](double sum, float number) {
    return std::isfinite(number) ? sum + std::abs(number) : sum;
  });
}

double way_to(const std::vector<float>& others, const std::vector<float>& usual,
              const std::vector<float>& left) {
  double all = 0.0;
  double missing = 0.0;
  for (std::size_t i = 0; i < std::min({usual.size(), others.size(), left.size()}); ++i) {
    const double lost = double{usual[i]} - others[i];
    const double kept = double{left[i]} - others[i];
    all += lost * lost;
    missing += std::isfinite(kept) ? kept * kept : lost * lost;
  }
  constexpr double kRounding = 1e-3;
  if (missing < kRounding * all) return 1.0;
  return all > 0.0 ? std::max(0.0, 1.0 - missing / all) : 0.0;
}

// The place of the input that an output multiplies by a tap of its filter.
std::int64_t input_place(const ConvShape& shape, std::int64_t output, std::int64_t tap) {
  const std::int64_t column = output % shape.out_width();
  const std::int64_t row = output / shape.out_width() % shape.out_height();
  const std::int64_t image = output / shape.output_image_size();
  const std::int64_t line = tap / shape.kernel;  // of a filter, and of the window that it meets
  const std::int64_t channel = image * shape.in_channels + line / shape.kernel;
  return (channel * shape.height + row * shape.stride + line % shape.kernel) * shape.width +
         column * shape.stride + tap % shape.kernel;
}

std::int64_t map_of(const ConvShape& shape, std::int64_t output) {
  return output / shape.out_width() / shape.out_height() % shape.out_channels;
}

// The numbers of a run.
struct OwnArrays {
  OwnArrays(const ConvShape& shape, Numbers numbers, int digits)
      : input(static_cast<std::size_t>(shape.input_size())),
        weights(static_cast<std::size_t>(shape.weights_size())) {
    Filling(shape, numbers, digits, false).fill({.input = input.data(), .weights = weights.data()});
  }
  std::vector<float> input;
  std::vector<float> weights;
};

// The sum of those products of an output that are lost.
float lost_products(const ConvShape& shape, const OwnArrays& arrays, std::int64_t output,
                    std::uint64_t key) {
  const std::int64_t filter = map_of(shape, output) * shape.taps();
  float sum = 0.0F;
  for (std::int64_t tap = 0; tap < shape.taps(); ++tap) {
    const float number = arrays.input[static_cast<std::size_t>(input_place(shape, output, tap))];
    const float weight = arrays.weights[static_cast<std::size_t>(filter + tap)];
    if (is_lost(number, weight, key)) sum += number * weight;
  }
  return sum;
}

// The part of the outputs that lose some of their terms, and not all, if half of the threads lose
// the inputs, or the weights, that they load: these have numbers of several threads. A thread that
// hands a number on and takes it back has its own.
double part_of_several(const char* threads, double enough, Runs& runs) {
  if (threads == nullptr) return 1.0;
  const auto part_of = [&](Numbers numbers) {
    const auto& usual = runs.with(kAllWork, numbers);
    const auto& some = runs.with(std::string("CONVLAB_EMU_TRACE=no-") + threads, numbers);
    const auto& none = runs.with("CONVLAB_EMU_TRACE=no-loads", numbers);
    const double part = share_of_outputs(
        std::min({usual.size(), some.size(), none.size()}), [](std::size_t) { return true; },
        [&](std::size_t i) {
          return std::min(usual[i] - some[i], some[i] - none[i]) > float{kUnit};
        });
    return part > 0.0 && runs.works_as_usual(numbers) ? part : 0.0;
  };
  const double part = part_of(Numbers::kInputs);
  return part >= enough ? part : std::max(part, part_of(Numbers::kWeights));
}

// Single numbers may come this way, or parts of a sum. Of two threads one in two outputs has both
// or none, of four one in eight.
double part_from(const Part& known, Runs& runs) {
  double part = part_with(Numbers::kRandomInputs, known.way, runs);
  if (part < kClear) part = std::max(part, part_with(Numbers::kRandomWeights, known.way, runs));
  constexpr double kOfFour = 0.875;
  const double several = part_of_several(known.threads, kOfFour, runs);
  if (part >= kClear) return std::min(part, several / kOfFour);
  // A thread may have stored one of both numbers itself. Who knows nothing, or passes finished sums
  // on, comes a quarter of the way.
  constexpr double kOfThree = 3.0;
  const double sums = std::min(1.0, kOfThree * part_with(Numbers::kTwoTaps, known.way, runs));
  return std::max(part, std::min(sums, 2.0 * several));
}

// Of the outputs that multiply a weight by zero, those in which another weight there changes
// digits: whoever makes fewer products adds up weights before.
double part_mixed(Runs& runs) {
  const ConvShape& shape = runs.shape;
  const OwnArrays arrays(shape, Numbers::kTap, 0);
  const OwnArrays others(shape, Numbers::kOtherTap, 0);
  std::vector<std::int64_t> taps;  // by map
  for (std::size_t i = 0; i < arrays.weights.size(); ++i)
    if (arrays.weights[i] != others.weights[i])
      taps.push_back(static_cast<std::int64_t>(i) % shape.taps());
  if (std::ssize(taps) != shape.out_channels) return 0.0;
  const auto& usual = runs.with(kAllWork, Numbers::kTap);
  const auto& left = runs.with(kAllWork, Numbers::kOtherTap);
  return share_of_outputs(
      std::min(usual.size(), left.size()),
      [&](std::size_t i) {
        const auto output = static_cast<std::int64_t>(i);
        const auto tap = taps[static_cast<std::size_t>(map_of(shape, output))];
        return arrays.input[static_cast<std::size_t>(input_place(shape, output, tap))] == 0.0F;
      },
      [&](std::size_t i) { return left[i] != usual[i]; });
}

}  // namespace

// How much of the way the outputs come to those of an input, or weights, without the lost numbers,
// if these are lost that come this way. What is left of a factor, or of a finished sum, is far from
// there; so is what somebody makes up who does not know which are lost.
double part_with(Numbers numbers, const std::string& way, Runs& runs, const std::string& kernels) {
  const std::string trace = "CONVLAB_EMU_TRACE=no-" + way + ":" +
                            std::to_string(lost_key(numbers, digits_for(runs.stage, numbers))) +
                            ";" + kernels;
  const double part = way_to(runs.with(kAllWork, numbers, true), runs.with(kAllWork, numbers),
                             runs.with(trace, numbers));
  return part > 0.0 && runs.works_as_usual(numbers) ? part : 0.0;
}

Arrays Runs::prepare(const std::string& setting, Numbers numbers, bool is_lost) {
  submission.restart();  // what it has kept of an earlier run is no part of this one
  submission.set_environment({"CONVLAB_EMU_THREADS=1", setting});
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  Filling(shape, numbers, digits_for(stage, numbers), is_lost).fill(arrays);
  for (std::int64_t i = 0; numbers == Numbers::kOneTap && i < shape.weights_size(); ++i)
    arrays.weights[i] = i % shape.taps() == only_tap ? 1.0F : 0.0F;
  return arrays;
}

double part_of_products(Submission& submission, const StageCounts& counts, bool on_tensor_cores) {
  Runs runs{submission, counts.stage, counts.shape};
  runs.works[Numbers::kAny] = work_of(counts.counted);
  const int digits = digits_for(runs.stage, Numbers::kRandom);
  const std::uint64_t key = lost_key(Numbers::kRandom, digits);
  const auto& usual = runs.with(kAllWork, Numbers::kRandom);
  const auto& left =
      runs.with("CONVLAB_EMU_TRACE=no-products:" + std::to_string(key), Numbers::kRandom);
  const OwnArrays arrays(runs.shape, Numbers::kRandom, digits);
  std::vector<float> others = usual;
  for (std::size_t i = 0; i < others.size(); ++i)
    others[i] -= lost_products(runs.shape, arrays, static_cast<std::int64_t>(i),
                               on_tensor_cores ? ~key : key);
  const double part = way_to(others, usual, left);
  return part > 0.0 && runs.works_as_usual(Numbers::kRandom) ? part : 0.0;
}

void count_parts(Submission& submission, const StageInfo& given, const ConvShape& shape,
                 const std::vector<std::string>& ids, StageCounts& counts) {
  const auto is_narrow = [](const ProductNote& note) {
    return note.kind.starts_with("tensor") || note.kind.starts_with("half");
  };
  // What computes with halves holds few digits, whatever it is judged by.
  StageInfo stage = given;
  if (counts.product_part >= kClear && std::ranges::any_of(counts.counted.products, is_narrow))
    stage.precision = Precision::kFp16;
  Runs runs{submission, stage, counts.shape};
  Runs of_images{submission, stage, shape};
  runs.works[Numbers::kAny] = work_of(counts.counted);
  leave_out_idle(runs, counts);
  const auto part = [&](const std::string& work) {
    const auto sum = [&](const std::string& of) {
      return sum_of(of_images.with("CONVLAB_EMU_WORK=" + of));
    };
    const double all = sum("all");
    return all > 0.0 ? sum(work) / all : 0.0;
  };
  // Of two that divide the work the smaller part, in one run or another: threads of the host may
  // divide it otherwise each time. Neither makes all of it.
  const auto divided = [&](const std::string& one, const std::string& other) {
    return std::max(0.0, std::min({part(one), part(other), 1.0 - part(one), 1.0 - part(other)}));
  };
  for (const std::string& id : ids) {
    const auto known =
        std::ranges::find_if(all_parts(), [&](const Part& each) { return each.id == id; });
    if (known != all_parts().end() && known->way != nullptr) {
      counts.parts[id] = part_from(*known, runs);
      continue;
    }
    counts.parts[id] = id == "index-part"       ? part_of_indices(runs)
                       : id == "mixed-part"     ? part_mixed(runs)
                       : id == "place-part"     ? part_of_places(runs)
                       : id == "resident-part"  ? part_of_resident_blocks(runs, counts)
                       : id == "graph-part"     ? part("graphs")
                       : id == "stream-part"    ? divided("first-stream", "other-streams")
                       : id == "device-part"    ? divided("first-device", "second-device")
                       : id == "layer-part"     ? part_of_layer(runs, counts, shape)
                       : id == "stream-overlap" ? part_beside_copies(of_images)
                                                : 1.0 - part("plain-copies");
  }
}

}  // namespace convlab::grader
