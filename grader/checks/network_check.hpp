#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/network/network.hpp"
#include "common/result/result.hpp"
#include "grader/submission/submission.hpp"
#include "reference/oracle/expected.hpp"

namespace convlab::grader {

/// Told of each timed call after it ended: the number of the convolution in the network, and what
/// the submission was given. What another program takes for the same, right now, is comparable.
using Beside = std::function<void(int layer, const ConvShape&, const Arrays& given)>;

/// A network at one batch: what a submission's convolutions become a part of.
struct NetworkTask {
  const Network& network;
  const std::vector<float>& images;         ///< at least batch × image_size × image_size
  const std::vector<std::uint8_t>& labels;  ///< at least batch
  const oracle::Expected& expected;
  int batch = 0;
  Beside beside{};    ///< empty: nobody measures beside
  int first = 0;      ///< the image with which the batch begins
  bool timed = true;  ///< false: each convolution is called once
};

struct NetworkOutcome {
  RunResult result{};
  std::optional<Finding> finding{};
};

/// Told what is going on, for a person who waits.
using Announce = std::function<void(const std::string& what)>;

/// Runs the network; its convolutions run in the submission's process, everything else here.
///
/// Each convolution is first called once and every element of its output compared with the oracle.
/// Then it is timed: further calls, each with the images in another order and a poisoned output,
/// must give the same bits in that order, or else pass the oracle themselves. The first call is a
/// sample only where it takes so long that there is no other.
NetworkOutcome run_network(Submission& submission, const StageInfo& stage, const NetworkTask& task,
                           const Announce& announce);

}  // namespace convlab::grader
