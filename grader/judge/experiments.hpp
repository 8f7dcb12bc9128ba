#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "grader/judge/check_stage.hpp"
#include "grader/judge/judge.hpp"

namespace convlab::grader {

/// What the compiler says of the sources, and which of their lines may be the cause.
Record source_record(const CheckContext& context, const Finding& about);

/// Makes the runs that a plan asks for, and writes what they show. It decides nothing.
class Experiments {
 public:
  /// @param stage  in the class that was asked for
  Experiments(const CheckContext& context, const StageInfo& stage, const std::vector<int>& batches,
              std::uint64_t seed, GradedNetwork& network);

  /// What the judge must know before the first run.
  [[nodiscard]] Evidence begin() const;

  Record run(const NextRun& next);

 private:
  [[nodiscard]] bool is_emulated() const;
  /// To those who wait; others may take times meanwhile.
  void announce(const std::string& what);
  [[nodiscard]] std::optional<Finding> time_is_up() const;
  /// The program that runs in this mode.
  Submission& in(const NextRun& next);
  void begin_tracing();
  [[nodiscard]] std::filesystem::path emulated(bool traced) const;

  void find_precision(Submission& submission, Record& record);
  void check_cases(Submission& submission, Record& record);
  void check_behaviour(Submission& submission, Record& record);
  void check_network(const NextRun& next, Record& record);
  void check_batches(Submission& submission, Record& record);
  void check_hidden(Submission& submission, Record& record);
  std::optional<Finding> finish_run(Submission& submission, NetworkOutcome& outcome,
                                    Record& record);
  void check_task(Submission& submission, Record& record);
  void rehearse(const NextRun& next, Record& record);
  void observe(const NextRun& next, Record& record);
  void quote_lines(const WrongProduct& product, Record& record);
  void repeat_quick_cases(const NextRun& next, Record& record);
  void repeat_failed_case(const NextRun& next, Record& record);

  CheckContext context_;
  StageInfo stage_;
  const std::vector<int>& batches_;
  std::uint64_t seed_;
  GradedNetwork& network_;
  CasePlan plan_;
  Announce announcer_ = [this](const std::string& what) { announce(what); };
  std::shared_lock<Machine> sharing_{context_.machine};
  std::shared_future<EmulatedProgram> traced_{};
  std::optional<Submission> other_{};  ///< of the last mode that is not plain
  Mode mode_of_other_ = Mode::kPlain;
  std::optional<CaseResult> failed_{};  ///< the last case that failed
};

}  // namespace convlab::grader
