#include "grader/measure/stage_steps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/unknown_name.hpp"
#include "reference/oracle/image_oracle.hpp"

namespace convlab::grader {

namespace {

std::string listed(const std::array<unsigned, 3>& index) {
  return std::to_string(index[0]) + "," + std::to_string(index[1]) + "," + std::to_string(index[2]);
}

// The inputs are whole numbers, so every right order of summation gives the same. Memory of the
// device begins as NaN; the device knows which of them were computed.
void compare_output(const TracedRun& run, StageSteps& steps) {
  const ConvShape& shape = steps.shape;
  const oracle::PreparedWeights weights(shape, run.arrays.weights);
  oracle::ImageOracle oracle(shape, weights);
  std::vector<std::int64_t> nans;
  for (int image = 0; image < shape.batch; ++image) {
    oracle.load(run.arrays.input + image * shape.input_image_size());
    oracle.for_each_row(
        [&](const oracle::OutputRow& row, const double* values, const double* /*magnitudes*/) {
          for (int column = 0; column < shape.out_width(); ++column) {
            const std::int64_t element = image * shape.output_image_size() + row.begin + column;
            const float got = run.arrays.output[element];
            if (std::bit_cast<std::uint32_t>(got) == oracle::kPoisonBits) {
              steps.unwritten.push_back(element);
            } else if (std::isnan(got)) {
              nans.push_back(element);
            } else if (static_cast<double>(got) != values[column]) {
              steps.wrong.push_back(element);
            }
          }
        });
  }
  const auto& poisoned = run.call.notes.poisoned;
  const bool are_unwritten = poisoned && poisoned->computed == 0 &&
                             poisoned->never_written == static_cast<std::int64_t>(nans.size());
  auto& kind = are_unwritten ? steps.unwritten : steps.wrong;
  kind.insert(kind.end(), nans.begin(), nans.end());
  std::ranges::sort(steps.unwritten);
  std::ranges::sort(steps.wrong);
}

// The kernel's launch whose grid is largest, to say which blocks there are.
const DeviceLaunch* launch_of(const std::vector<DeviceLaunch>& launches,
                              const std::string& kernel) {
  const DeviceLaunch* found = nullptr;
  for (const DeviceLaunch& launch : launches) {
    if (launch.kernel != kernel) continue;
    if (found == nullptr || launch.grid > found->grid) found = &launch;
  }
  return found;
}

}  // namespace

StageSteps record_stage(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                        const WantedBlock& wanted) {
  StageSteps steps{.stage = stage, .shape = shape};
  const TracedRun look = run_traced(submission, stage, shape, "races");
  steps.finding = look.finding;
  steps.race = look.call.race;
  if (look.call.failure) steps.fault = look.call.failure->fault;
  std::vector<DeviceLaunch> launches = look.call.notes.launches;
  std::string kernel;
  std::array<unsigned, 3> block{};
  if (steps.race && steps.race->race && !steps.race->kernel.empty()) {
    kernel = steps.race->kernel;
    block = steps.race->race->second.block;
  } else if (steps.fault && !steps.fault->kernel.empty()) {
    kernel = steps.fault->kernel;
    block = steps.fault->block;
  } else if (!launches.empty()) {
    kernel = launches.back().kernel;
  }
  // After a fault the launches are not known.
  if (steps.fault && !kernel.empty() && launch_of(launches, kernel) == nullptr) {
    launches.push_back({.kernel = kernel, .grid = steps.fault->grid});
  }
  for (const DeviceLaunch& launch : launches) {
    if (std::ranges::find(steps.kernels, launch.kernel) == steps.kernels.end()) {
      steps.kernels.push_back(launch.kernel);
    }
  }
  if (kernel.empty()) return steps;
  if (!wanted.kernel.empty() && wanted.kernel != kernel) {
    if (std::ranges::find(steps.kernels, wanted.kernel) == steps.kernels.end()) {
      throw UsageError(unknown_name("kernel", wanted.kernel, steps.kernels,
                                    " among those that " + stage.id + " launches"));
    }
    kernel = wanted.kernel;
    block = {};
  }
  if (wanted.block) {
    block = *wanted.block;
    const DeviceLaunch* launch = launch_of(launches, kernel);
    if (launch != nullptr && launch->grid[0] > 0) {
      const auto& grid = launch->grid;
      if (block[0] >= grid[0] || block[1] >= grid[1] || block[2] >= grid[2]) {
        throw UsageError("There is no block " + listed(block) + ": " + kernel +
                         " is launched with blocks from 0,0,0 to " +
                         listed({grid[0] - 1, grid[1] - 1, grid[2] - 1}) + " here.");
      }
    }
  }
  std::vector<std::string> settings = {"CONVLAB_EMU_POISON=numbered"};
  if (steps.fault && !steps.fault->writes) settings.emplace_back("CONVLAB_EMU_READS=forgiven:0");
  TracedRun record = run_traced(
      submission, stage, shape,
      "steps:" + listed(block) + ":" + std::to_string(wanted.first) + ":" + kernel, settings);
  steps.notes = std::move(record.call.steps);
  if (!record.call.failure) compare_output(record, steps);
  return steps;
}

}  // namespace convlab::grader
