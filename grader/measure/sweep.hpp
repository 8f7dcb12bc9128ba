#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "grader/measure/sweep_space.hpp"

namespace convlab::grader {

/// The outcome of one point.
struct TriedPoint {
  int batch = 0;
  SweepPoint point{};
  std::vector<std::vector<double>> op_ms{};  ///< samples, a list for each convolution
  std::string failure{};                     ///< why there are none
};

/// A sweep as stored in a file, so that it can stop and continue.
struct SweepRecord {
  std::string stage{};
  std::string program{};  ///< the executable and its version
  std::string network{};
  std::string gpu{};
  std::vector<TriedPoint> tried{};
};

/// What to sweep.
struct SweepPlan {
  SweepSpace space{};
  std::filesystem::path program{};  ///< the milestone's program
  std::string network{};
  std::string gpu{};
  std::vector<int> batches{};
  std::vector<ConvShape> shapes{};  ///< of the network's convolutions, at any batch
  int repeats = 10;
  const volatile std::sig_atomic_t* interrupted = nullptr;
};

/// The points of a plan that some convolution must try, batch after batch.
std::vector<TriedPoint> work_of(const SweepPlan& plan);

/// The record in `file` if it has the same stage, program, network and GPU; otherwise a new one.
/// @throws EnvironmentError if the file exists and is not a record
SweepRecord continued_record(const std::filesystem::path& file, const SweepPlan& plan);

/// Times the stage at one point, over the channel of a check, and stores its times or the reason
/// for none.
/// @return false if it was interrupted
bool time_point(const SweepPlan& plan, TriedPoint& point);

using TimePoint = std::function<bool(const SweepPlan& plan, TriedPoint& point)>;

/// Times the points that the record lacks, and writes it after each point.
/// @param show  called before each point with "12 of 57: 4,8,128 at 1000 images"
/// @return false if it was interrupted
/// @throws EnvironmentError if the program is missing or no GPU answers it
bool run_sweep(const SweepPlan& plan, const std::filesystem::path& file, SweepRecord& record,
               const std::function<void(const std::string&)>& show,
               const TimePoint& time = time_point);

}  // namespace convlab::grader
