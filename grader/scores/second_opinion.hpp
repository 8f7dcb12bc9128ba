#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>

#include "grader/scores/check_stage.hpp"
#include "grader/scores/luck.hpp"

namespace convlab::grader {

/// A finding, and whether it is only a warning.
struct Opinion {
  std::optional<Finding> finding{};
  bool is_warning = false;
};

/// Whether the emulated device may know more than what a GPU has found.
bool asks_emulated(const std::optional<Finding>& found);

/// What a rehearsal on the emulated device says, once the limits of emulation are left out and a
/// race is told as the cause of what it causes.
/// @param found  on the GPU
std::optional<Finding> rehearsal_of(const std::optional<Finding>& found,
                                    std::optional<Finding> emulated,
                                    const std::optional<Race>& race);

/// What counts of both devices' findings.
/// @param luck  whether a GPU forgives what the emulated device has found
Opinion judge(const std::optional<Finding>& found, Finding emulated,
              const std::optional<Luck>& luck, Rules rules);

/// Other programs that are made of the same file, and what they say.
class SecondOpinion {
 public:
  explicit SecondOpinion(const CheckContext& context) : context_(context) {}

  /// Compiles the file so that it can be traced, beside the checks that run meanwhile.
  void begin_tracing();

  /// What orders the threads, in the plan's cases and in one with more products.
  /// @param found  what is known already
  Observed observe(const StageInfo& stage, const CasePlan& plan,
                   const std::optional<Finding>& found, std::uint64_t seed);

  /// Of a CPU's file: two threads of an OpenMP region use a variable that they share, one of them
  /// to change it, and nothing orders them (common/custom_submission/openmp_races.cpp).
  std::optional<Finding> openmp_race(const StageInfo& stage, std::uint64_t seed) const;

  /// What check_phases finds out about the emulated program.
  [[nodiscard]] std::optional<Finding> phases(const StageInfo& stage, const ConvShape& shape,
                                              std::uint64_t seed) const;

  /// The lines that make what was measured, from a program whose accesses are observed.
  void add_lines(const StageInfo& stage, Finding& found);

  /// On a GPU: what fails there is checked again on an emulated device, whose finding knows lines
  /// and threads. An emulated device also sees faults that the GPU does not show.
  Opinion rehearsed(const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                    const std::optional<Finding>& found);

 private:
  /// The first finding of the emulated program: in these cases, in another order of its threads and
  /// streams, or in memory that it does not free. None if there is none, or no such program.
  [[nodiscard]] std::optional<Finding> rehearse(const StageInfo& stage, const CasePlan& plan,
                                                std::uint64_t seed) const;
  /// Null if it is not there or does not answer.
  [[nodiscard]] std::unique_ptr<Submission> start(const std::filesystem::path& program) const;

  const CheckContext& context_;
  std::shared_future<EmulatedProgram> traced_{};
};

}  // namespace convlab::grader
