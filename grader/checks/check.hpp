#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/network/network.hpp"
#include "common/result/result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// What `grader check` is asked to do.
struct CheckRequest {
  std::string milestone;
  std::string solution = "student";
  std::filesystem::path program{};     ///< the milestone's executable
  std::optional<std::string> stage{};  ///< none: every stage of the program
  std::vector<int> batches{};
  std::string network = kDefaultPreset;
  std::optional<std::uint64_t> seed{};  ///< of the element-wise cases; none: another one each time
  std::optional<std::chrono::milliseconds> time_limit{};
  bool cases = true;  ///< false: only the network, of a stage whose cases passed already
  /// Told of each timed call, see Beside.
  std::function<void(const StageInfo&, int batch, int layer, const ConvShape&, const Arrays&)>
      beside{};
};

/// Who is told while a check runs.
struct CheckObserver {
  std::function<void(const std::string& what)> announce;
  std::function<void(const StageInfo&, std::size_t cases)> cases_passed;
  std::function<void(const RunResult&)> run_ended;
  std::function<void(const StageInfo&, const Finding&)> found;
};

/// Builds nothing; runs the element-wise cases and the network at every batch, stage by stage. A
/// stage stops at its first finding; the other stages still run.
/// @throws UsageError for an unknown stage (lists the known ones) or network, EnvironmentError for
/// missing data or memory, and for a GPU that answers, but not the isolated program
Result check(const CheckRequest& request, const CheckObserver& observer);

}  // namespace convlab::grader
