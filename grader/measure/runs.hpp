#pragma once

// Runs of a stage that show how its output is made, and the parts of it that they show.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "grader/measure/counters.hpp"

namespace convlab::grader {

/// What an input and weights hold that show how an output is made.
enum class Numbers {
  kAny,            ///< as in all other runs
  kInputs,         ///< positive weights, and marked inputs
  kWeights,        ///< the other way round
  kOnes,           ///< the same weights, and an input of ones
  kRandom,         ///< random ones, both
  kRandomInputs,   ///< weights that are powers of two, which change the digits of no input
  kRandomWeights,  ///< the other way round
  kTwoTaps,        ///< random inputs; most ways to divide a sum keep the two weights of a map apart
  kOneTap,         ///< positive inputs; of the weights of each map a one, at Runs::only_tap
  kTap,            ///< as in other runs, but for some zeros in the input
  kOtherTap        ///< the same, but for one weight of each map
};

/// Accesses and products, by kernel and kind.
using Work = std::map<std::string, std::int64_t>;

Work work_of(const AccessNotes& counted);

inline constexpr const char* kAllWork = "CONVLAB_EMU_TRACE=off";

/// Runs of one stage with one convolution. What the same work makes of the same numbers is known.
struct Runs {
  Submission& submission;
  StageInfo stage;
  ConvShape shape;
  int only_tap = 0;
  std::map<std::tuple<std::string, Numbers, bool, int>, std::vector<float>> outputs{};
  std::map<Numbers, Work> works{};

  /// Fills the arrays for a run with this setting. @param is_lost  whether lost numbers are zeros
  Arrays prepare(const std::string& setting, Numbers numbers, bool is_lost);

  /// The outputs if the device leaves out some work; none if it fails then.
  const std::vector<float>& with(const std::string& setting, Numbers numbers = Numbers::kAny,
                                 bool is_lost = false);

  /// Whether it makes as many accesses and products with these numbers as with usual ones: else
  /// they show nothing of all other runs.
  bool works_as_usual(Numbers numbers);
};

/// Of the outputs for which is_asked(i), those for which is_so(i).
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

/// How much of the way to the outputs without the lost numbers those come that lose what comes this
/// way (forgetter.hpp). @param kernels  for which alone numbers are lost; none: all
double part_with(Numbers numbers, const std::string& way, Runs& runs,
                 const std::string& kernels = {});

/// @{ Parts of the output, or of the work, by the names of all_parts().
double part_of_indices(Runs& runs);
double part_of_layer(Runs& runs, const StageCounts& counts, const ConvShape& other);
double part_beside_copies(Runs& runs);
double part_of_places(Runs& runs);
double part_of_resident_blocks(Runs& runs, const StageCounts& counts);
/// @}

/// A kernel without which the output is the same is for show: nothing of it counts.
void leave_out_idle(Runs& runs, StageCounts& counts);

}  // namespace convlab::grader
