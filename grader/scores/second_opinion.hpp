#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/custom_submission.hpp"
#include "grader/checks/result/finding.hpp"
#include "grader/checks/rules.hpp"
#include "grader/scores/check_stage.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Two accesses that nothing orders, in whatever order they happened.
struct Race {
  Finding finding{};
  bool is_between_warps = false;  ///< not only lanes of a warp that do not wait for each other
  bool stores_twice = false;      ///< two threads store in one element: perhaps its index is wrong
  bool is_in_device_memory = false;  ///< not in shared memory
  bool is_one_number = false;        ///< of a variable that is no array
  std::filesystem::path program{};   ///< that found it
  std::string meeting_places{};      ///< where lanes must meet so that they run as on most GPUs
};

/// What the repeated cases show where every access to memory is observed (common/emulation/trace).
struct Observed {
  std::optional<Race> race{};
  /// Without a race: a file may notice that it is observed, but must be built and right then, too.
  std::optional<Finding> wrong{};
};

/// @param sources  of the program, whose lines and names the finding quotes
/// @param is_known  what is wrong: only races are looked for
Observed observe_accesses(const EmulatedProgram& traced, const SourceText& sources,
                          const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                          bool is_known);

/// A fault that GPUs forgive, and the emulated program in which it does not change the result.
struct Luck {
  Finding finding{};
  std::filesystem::path program{};
  std::vector<std::string> environment{};
};

/// What to tell of a finding and a race. A barrier that not all threads reach is the cause of what
/// it does not order; what says more about a wrong index than two threads at one element stays.
Finding cause_of(const Finding& found, const Race& race);

/// Whether the order of lanes or neighbouring memory can cause this finding.
bool may_be_luck(const Finding& finding);

/// A finding, and whether it is only a warning.
struct Opinion {
  std::optional<Finding> finding{};
  bool is_warning = false;
};

/// Whether the emulated device may know more than what a GPU has found.
bool asks_emulated(const std::optional<Finding>& found);

/// What a rehearsal on the emulated device says, without the limits of emulation and with a race as
/// the cause of what it causes. @param found  on the GPU
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
  SecondOpinion(const CheckContext& context, const StageInfo& stage, const CasePlan& plan,
                std::uint64_t seed)
      : context_(context), stage_(stage), plan_(plan), seed_(seed) {}

  /// Compiles the file so that it can be traced, beside the checks that run meanwhile.
  void begin_tracing();

  /// What orders the threads, in the plan's cases and in one with more products.
  /// @param found  what is known already
  Observed observe(const std::optional<Finding>& found);

  /// Whether GPUs forgive a fault of the emulated program: a read beyond an allocation that decides
  /// nothing (E-outside), or lanes of a warp that do not wait for each other (E-warp-sync).
  /// @return nothing if the result is wrong in any of the plan's repeated cases
  [[nodiscard]] std::optional<Luck> luck(const Finding& found,
                                         const std::optional<Race>& race) const;

  /// Of a CPU's file: two threads of an OpenMP region use a variable that they share, one of them
  /// to change it, and nothing orders them (common/custom_submission/openmp_races.cpp).
  [[nodiscard]] std::optional<Finding> openmp_race() const;

  /// What check_phases finds out about the emulated program.
  [[nodiscard]] std::optional<Finding> phases() const;

  /// The lines that make what was measured, from a program whose accesses are observed.
  void add_lines(Finding& found);

  /// On a GPU: what fails there is checked again on an emulated device, whose finding knows lines
  /// and threads. An emulated device also sees faults that the GPU does not show.
  Opinion rehearsed(const std::optional<Finding>& found);

 private:
  /// The first finding of the emulated program; none if there is none, or no such program.
  [[nodiscard]] std::optional<Finding> rehearse(const CasePlan& plan) const;
  /// Null if it is not there or does not answer.
  [[nodiscard]] std::unique_ptr<Submission> start(const std::filesystem::path& program) const;

  const CheckContext& context_;
  const StageInfo& stage_;
  const CasePlan& plan_;
  std::uint64_t seed_;
  std::shared_future<EmulatedProgram> traced_{};
};

}  // namespace convlab::grader
