#include "grader/measure/parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "common/base/lost_number.hpp"
#include "grader/checks/element_cases.hpp"

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
      {"mixed-part", "output that a weight disturbs whose input is zero"},
      {"graph-part", "output that launches of graphs make"},
      {"stream-part", "output that a second stream makes"},
      {"stream-copies", "output that needs asynchronous copies in streams"},
      {"stream-overlap", "kernels beside which copies of another stream may run"},
      {"device-part", "output that a second device makes"},
      {"layer-part", "products of kernels that the other convolution does not have"}};
  return all;
}

namespace {

/// What an input and weights hold that show how an output is made.
enum class Numbers {
  kAny,            ///< positive ones
  kInputs,         ///< such weights, and marked inputs
  kWeights,        ///< the other way round
  kOnes,           ///< an input of ones
  kRandom,         ///< random ones, both
  kRandomInputs,   ///< weights that are powers of two, which change the digits of no input
  kRandomWeights,  ///< the other way round
  kTwoTaps,        ///< random inputs; most ways to divide a sum keep the two weights of a map apart
  kNoTap,          ///< some zeros in the input; a zero among the weights of each map
  kHugeTap,        ///< the same, but for a huge number in place of that zero
  kOneTap          ///< the same, but for a one in its place and zeros elsewhere
};

// Which random numbers are lost (lost_number.hpp); of those whose sums pass on, few or many digits.
std::uint64_t lost_key(Numbers numbers, int digits) {
  static const std::uint64_t key = std::random_device{}() | 1U;
  if (numbers != Numbers::kTwoTaps) return key << 32U;
  constexpr int kFew = 10;
  return digits > kFew ? 101 + 2 * (key % 449) : 5 + 2 * (key % 8);
}

constexpr double kClear = 0.9;  // so much, and it is nearly all
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
    const bool has_zeros = numbers_ >= Numbers::kNoTap;
    const float most = numbers_ == Numbers::kOnes ? 1.0F : 3.0F;
    std::generate_n(arrays.input, shape_.input_size(), [&] {
      return numbers_ == Numbers::kInputs          ? mark()
             : has_random                          ? random()
             : numbers_ == Numbers::kRandomWeights ? power()
             : has_zeros && below(8) == 0          ? 0.0F
                                                   : std::min(most, usual());
    });
    const bool is_sparse = numbers_ == Numbers::kTwoTaps || numbers_ == Numbers::kOneTap;
    std::generate_n(arrays.weights, shape_.weights_size(), [&] {
      return numbers_ == Numbers::kWeights         ? mark()
             : numbers_ == Numbers::kRandomInputs  ? power()
             : numbers_ == Numbers::kRandom        ? random()
             : numbers_ == Numbers::kRandomWeights ? random()
             : is_sparse                           ? 0.0F
                                                   : usual();
    });
    engine_.seed(kCountedSeed);  // the same places, whatever the weights are
    for (int m = 0; m < shape_.out_channels; ++m) place(arrays.weights + m * shape_.taps());
  }

 private:
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  float usual() { return static_cast<float>(1 + below(3)); }
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
    if (numbers_ < Numbers::kNoTap) return;
    constexpr std::array kTaps = {0.0F, 0x1p60F, 1.0F};
    map[below(shape_.taps())] =
        kTaps[static_cast<std::size_t>(numbers_) - static_cast<std::size_t>(Numbers::kNoTap)];
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

// The outputs if the device leaves out some work; none if it fails then.
std::vector<float> outputs_with(Submission& submission, const StageInfo& stage,
                                const ConvShape& shape, const std::string& setting,
                                Numbers numbers = Numbers::kAny, bool is_lost = false) {
  submission.restart();  // what it has kept of an earlier run is no part of this one
  submission.set_environment({"CONVLAB_EMU_THREADS=1", setting});
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  Filling(shape, numbers, digits_for(stage, numbers), is_lost).fill(arrays);
  const bool failed = submission.run(stage.id).failure.has_value();
  submission.set_environment({});
  if (failed) return {};
  return {arrays.output, arrays.output + shape.output_size()};
}

double sum_of(const std::vector<float>& outputs) {
  // Poison, which stands where nobody wrote, is no number.
  return std::accumulate(outputs.begin(), outputs.end(), 0.0, [](double sum, float number) {
    return std::isfinite(number) ? sum + std::abs(number) : sum;
  });
}

constexpr const char* kAllWork = "CONVLAB_EMU_TRACE=off";

// Names for the device, which may hold commas.
std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += name + ";";
  return list;
}

std::string without(const char* what, const std::vector<std::string>& names) {
  return std::string("CONVLAB_EMU_WORK=without-") + what + ":" + listed(names);
}

// Of the outputs for which is_asked(i), those for which is_so(i).
template <class IsAsked, class IsSo>
double share_of_outputs(std::size_t size, const IsAsked& is_asked, const IsSo& is_so) {
  double asked = 0.0;
  double found = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!is_asked(i)) continue;
    asked += 1.0;
    found += is_so(i) ? 1.0 : 0.0;
  }
  return asked > 0.0 ? found / asked : 0.0;
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

// How much of the way the outputs come to those of an input, or weights, without the lost numbers,
// if these are lost that come this way. What is left of a factor, or of a finished sum, is far from
// there; so is what somebody makes up who does not know which are lost.
// @param kernels  for which alone numbers are lost; none: all
double part_with(Numbers numbers, const std::string& way, Submission& submission,
                 const StageInfo& stage, const ConvShape& shape, const std::string& kernels = {}) {
  const std::string trace = "CONVLAB_EMU_TRACE=no-" + way + ":" +
                            std::to_string(lost_key(numbers, digits_for(stage, numbers))) + ";" +
                            kernels;
  const auto usual = outputs_with(submission, stage, shape, kAllWork, numbers);
  const auto others = outputs_with(submission, stage, shape, kAllWork, numbers, true);
  const auto left = outputs_with(submission, stage, shape, trace, numbers);
  return way_to(others, usual, left);
}

// The sum of those products of an output that are lost.
float lost_products(const ConvShape& shape, const std::vector<float>& input,
                    const std::vector<float>& weights, std::int64_t output, std::uint64_t key) {
  const std::int64_t column = output % shape.out_width();
  const std::int64_t row = output / shape.out_width() % shape.out_height();
  const std::int64_t map = output / shape.out_width() / shape.out_height();
  const std::int64_t image = map / shape.out_channels;
  float sum = 0.0F;
  for (std::int64_t tap = 0; tap < shape.taps(); ++tap) {
    const std::int64_t line = tap / shape.kernel;  // of a filter, and of the window that it meets
    const std::int64_t channel = image * shape.in_channels + line / shape.kernel;
    const std::int64_t place =
        (channel * shape.height + row * shape.stride + line % shape.kernel) * shape.width +
        column * shape.stride + tap % shape.kernel;
    const float number = input[static_cast<std::size_t>(place)];
    const float weight =
        weights[static_cast<std::size_t>(map % shape.out_channels * shape.taps() + tap)];
    if (is_lost(number, weight, key)) sum += number * weight;
  }
  return sum;
}

// The part of the outputs that lose some of their terms, and not all, if half of the threads lose
// the inputs, or the weights, that they load: these have numbers of several threads. A thread that
// hands a number on and takes it back has its own.
double part_of_several(const char* threads, Submission& submission, const StageInfo& stage,
                       const ConvShape& shape) {
  if (threads == nullptr) return 1.0;
  const auto part_of = [&](Numbers numbers) {
    const auto without = [&](const std::string& way) {
      return outputs_with(submission, stage, shape, "CONVLAB_EMU_TRACE=" + way, numbers);
    };
    const auto usual = without("off");
    const auto some = without(std::string("no-") + threads);
    const auto none = without("no-loads");
    return share_of_outputs(
        std::min({usual.size(), some.size(), none.size()}), [](std::size_t) { return true; },
        [&](std::size_t i) {
          return std::min(usual[i] - some[i], some[i] - none[i]) > float{kUnit};
        });
  };
  return std::max(part_of(Numbers::kInputs), part_of(Numbers::kWeights));
}

// Single numbers may come this way, or parts of a sum. Of two threads one in two outputs has both
// or none, of four one in eight.
double part_from(const Part& known, Submission& submission, const StageInfo& stage,
                 const ConvShape& shape) {
  double part = part_with(Numbers::kRandomInputs, known.way, submission, stage, shape);
  if (part < kClear)
    part = std::max(part, part_with(Numbers::kRandomWeights, known.way, submission, stage, shape));
  const double several = part_of_several(known.threads, submission, stage, shape);
  constexpr double kOfFour = 0.875;
  if (part >= kClear) return std::min(part, several / kOfFour);
  // A thread may have stored one of both numbers itself. Who knows nothing, or passes finished sums
  // on, comes a quarter of the way.
  constexpr double kOfThree = 3.0;
  const double sums =
      std::min(1.0, kOfThree * part_with(Numbers::kTwoTaps, known.way, submission, stage, shape));
  return std::max(part, std::min(sums, 2.0 * several));
}

// The part of the outputs that are others if indices are lost that come from memory.
double part_of_indices(Submission& submission, const StageInfo& stage, const ConvShape& shape) {
  const auto usual = outputs_with(submission, stage, shape, kAllWork);
  const auto left = outputs_with(submission, stage, shape, "CONVLAB_EMU_TRACE=no-indices");
  return share_of_outputs(
      std::min(usual.size(), left.size()), [](std::size_t) { return true; },
      [&](std::size_t i) { return usual[i] != left[i]; });
}

// Of the outputs for which the input at the huge weight is zero, those that have lost digits by it:
// whoever makes fewer products adds up weights before.
double part_mixed(Submission& submission, const StageInfo& stage, const ConvShape& shape) {
  const auto with = [&](Numbers numbers) {
    return outputs_with(submission, stage, shape, kAllWork, numbers);
  };
  const auto usual = with(Numbers::kNoTap);
  const auto huge = with(Numbers::kHugeTap);
  const auto inputs = with(Numbers::kOneTap);
  return share_of_outputs(
      std::min({usual.size(), huge.size(), inputs.size()}),
      [&](std::size_t i) { return std::fabs(inputs[i]) < 0.5F; },
      [&](std::size_t i) { return huge[i] != usual[i]; });
}

// Of the outputs, those that are others if this work is left out: all, if nothing runs without it.
double part_without(const std::string& work, Submission& submission, const StageInfo& stage,
                    const ConvShape& shape) {
  const auto usual = outputs_with(submission, stage, shape, kAllWork);
  const auto left = outputs_with(submission, stage, shape, work);
  if (left.empty()) return 1.0;
  return share_of_outputs(
      std::min(usual.size(), left.size()), [](std::size_t) { return true; },
      [&](std::size_t i) { return !(usual[i] == left[i]); });
}

// The products of kernels that a run of the other convolution does not have; at most the part of
// the output that is made of numbers which these load. A sum that they only pass on is none, where
// numbers are seen to pass at all.
double part_of_layer(Submission& submission, const StageCounts& counts, const ConvShape& other) {
  submission.restart();
  const TracedRun run = run_traced(submission, counts.stage, other, "off");
  std::vector<std::string> names;
  for (const DeviceLaunch& launch : counts.launches) {
    if (std::ranges::count(run.call.notes.launches, launch.code, &DeviceLaunch::code) == 0)
      names.push_back(launch.kernel);
  }
  double all = 0.0;
  double own = 0.0;
  for (const ProductNote& note : counts.counted.products) {
    const auto made = static_cast<double>(note.multiply_adds);
    all += made;
    if (std::ranges::count(names, note.kernel) > 0) own += made;
  }
  if (run.finding || own == 0.0) return 0.0;
  const auto of_loads = [&](const std::string& kernels) {
    return part_with(Numbers::kRandomInputs, "loads", submission, counts.stage, counts.shape,
                     kernels);
  };
  const bool are_seen = of_loads("") >= kClear;
  return std::min(own / all, are_seen ? of_loads(listed(names))
                                      : part_without(without("kernels", names), submission,
                                                     counts.stage, counts.shape));
}

// The part of the output that kernels make beside which copies may run; at most the part that is
// made of what these copies bring, which are ones then, or take away. The order of streams is known
// only where somebody observes.
double part_beside_copies(Submission& submission, const StageInfo& stage, const ConvShape& shape) {
  submission.restart();
  const DeviceNotes notes = run_traced(submission, stage, shape, "no-shuffles").call.notes;
  if (notes.copies_beside.empty()) return 0.0;
  const auto usual = outputs_with(submission, stage, shape, kAllWork);
  const auto ones = outputs_with(submission, stage, shape, kAllWork, Numbers::kOnes);
  const auto with = [&](const char* copies) {
    return outputs_with(submission, stage, shape, without(copies, notes.copies_beside));
  };
  const auto brought = with("inputs");
  const auto taken = with("outputs");
  const double copied = share_of_outputs(
      std::min({usual.size(), ones.size(), brought.size(), taken.size()}),
      [](std::size_t) { return true; },
      [&](std::size_t i) {
        return (brought[i] == ones[i] && brought[i] != usual[i]) || !(taken[i] == usual[i]);
      });
  return std::min(copied,
                  part_without(without("kernels", notes.kernels_beside), submission, stage, shape));
}

// A kernel without which the output is the same is for show: nothing of it counts.
void leave_out_idle(Submission& submission, StageCounts& counts) {
  std::set<std::string> names;
  for (const DeviceLaunch& launch : counts.launches) names.insert(launch.kernel);
  for (const std::string& name : names) {
    if (names.size() < 2 ||
        part_without(without("kernels", {name}), submission, counts.stage, counts.shape) > 0.0)
      continue;
    const auto is_idle = [&](const auto& note) { return note.kernel == name; };
    std::erase_if(counts.launches, is_idle);
    std::erase_if(counts.counted.accesses, is_idle);
    std::erase_if(counts.counted.products, is_idle);
  }
}

}  // namespace

double part_of_products(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                        bool on_tensor_cores) {
  const int digits = digits_for(stage, Numbers::kRandom);
  const std::uint64_t key = lost_key(Numbers::kRandom, digits);
  const auto usual = outputs_with(submission, stage, shape, kAllWork, Numbers::kRandom);
  const auto left =
      outputs_with(submission, stage, shape, "CONVLAB_EMU_TRACE=no-products:" + std::to_string(key),
                   Numbers::kRandom);
  std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
  std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
  Filling(shape, Numbers::kRandom, digits, false)
      .fill({.input = input.data(), .weights = weights.data()});
  std::vector<float> others = usual;
  for (std::size_t i = 0; i < others.size(); ++i)
    others[i] -= lost_products(shape, input, weights, static_cast<std::int64_t>(i),
                               on_tensor_cores ? ~key : key);
  return way_to(others, usual, left);
}

void count_parts(Submission& submission, const StageInfo& given, const ConvShape& shape,
                 const std::vector<std::string>& ids, StageCounts& counts) {
  leave_out_idle(submission, counts);
  const auto is_narrow = [](const ProductNote& note) {
    return note.kind.starts_with("tensor") || note.kind.starts_with("half");
  };
  // What computes with halves holds few digits, whatever it is judged by.
  StageInfo stage = given;
  if (counts.product_part >= kClear && std::ranges::any_of(counts.counted.products, is_narrow))
    stage.precision = Precision::kFp16;
  std::map<std::string, double> sums;
  const auto part = [&](const std::string& work) {
    for (const std::string& each : {std::string("all"), work}) {
      if (sums.contains(each)) continue;
      sums[each] = sum_of(outputs_with(submission, stage, shape, "CONVLAB_EMU_WORK=" + each));
    }
    return sums["all"] > 0.0 ? sums[work] / sums["all"] : 0.0;
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
      counts.parts[id] = part_from(*known, submission, stage, counts.shape);
      continue;
    }
    counts.parts[id] = id == "index-part"       ? part_of_indices(submission, stage, counts.shape)
                       : id == "mixed-part"     ? part_mixed(submission, stage, counts.shape)
                       : id == "graph-part"     ? part("graphs")
                       : id == "stream-part"    ? divided("first-stream", "other-streams")
                       : id == "device-part"    ? divided("first-device", "second-device")
                       : id == "layer-part"     ? part_of_layer(submission, counts, shape)
                       : id == "stream-overlap" ? part_beside_copies(submission, stage, shape)
                                                : 1.0 - part("plain-copies");
  }
}

}  // namespace convlab::grader
