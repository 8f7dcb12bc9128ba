#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/data/dataset.hpp"
#include "common/network/network.hpp"
#include "common/serve/finding.hpp"
#include "grader/submission/submission.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/expected.hpp"

namespace convlab::grader {

/// Reports progress to a waiting person.
using Announce = std::function<void(const std::string& what)>;

/// " [###.......] 87 s left" of work that is expected to take so long; else the seconds so far.
/// Says what Ctrl-C does while it is Interruptible.
std::string progress_bar(double seconds, double expected_s);

/// A network, the test images, and the expected answers, read once and only when needed.
struct GradedNetwork {
  std::string name;
  int largest_batch;  ///< the largest number of images that will be requested

  /// Reads all of it, unless it is loaded already. Any thread may call it.
  /// @throws UsageError for an unknown name, EnvironmentError for missing data or memory
  void load(const Announce& announce);

  // After load().
  std::optional<Network> network{};
  Dataset dataset{};
  Buffer images{};  ///< `largest_batch` × image_size × image_size
  oracle::Expected expected{};
  std::mutex loading{};
};

/// A convolution of the network whose output was found right.
struct CheckedLayer {
  int index = 0;        ///< among the network's convolutions
  std::string where{};  ///< for messages: "convolution 1 of network fa23 (…)"
  ConvShape shape{};
  std::vector<float> weights{};  ///< the grader's own
  oracle::Tolerance tolerance;
  double op_ms = 0.0;  ///< of the call that was found right
  int copies = 0;      ///< of run_timed: see run_in_steps
  /// Whether convolve computes from the content of the input array after prolog. False on a device
  /// if prolog turns the input into another form that cannot be found in its memory.
  bool exchanges = true;
};

struct NetworkOutcome {
  RunResult result{};
  std::optional<Finding> finding{};
  std::vector<CheckedLayer> layers{};
};

/// Runs a network that is loaded; its convolutions run in the submission's process, everything else
/// here. Each convolution is called once and every element of its output compared with the oracle.
/// @param first  the image with which the batch begins
NetworkOutcome check_network(Submission& submission, const StageInfo& stage,
                             const GradedNetwork& network, int batch, const Announce& announce,
                             int first = 0);

/// The same for batches from random places of the data.
/// @param size  of these batches; none: random sizes, too
/// @param largest  batch that `network` has images for
std::optional<Finding> check_hidden_batches(Submission& submission, const StageInfo& stage,
                                            const GradedNetwork& network, std::optional<int> size,
                                            int largest, std::uint64_t seed,
                                            const Announce& announce);

}  // namespace convlab::grader
