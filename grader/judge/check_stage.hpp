#pragma once

#include <omp.h>
#include <pthread.h>

#include <cstdint>
#include <optional>
#include <semaphore>
#include <vector>

#include "grader/checks/network_check.hpp"
#include "grader/judge/grade.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Checks of several stages share the machine, except while one of them takes times: it has the
/// machine for itself. Whoever wants to take times comes before those who want to share.
class Machine {
 public:
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }

  const int processors = omp_get_max_threads();

  /// As many networks are checked at a time as there is memory for.
  struct Networks {
    void lock() { places.acquire(); }
    void unlock() { places.release(); }
    std::counting_semaphore<> places{0};
  } networks;

  bool is_shared = false;    ///< several stages are checked at the same time
  bool was_stopped = false;  ///< somebody had enough of a long batch

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
};

/// What the checks of a program's stages share.
struct CheckContext {
  const GradeRequest& request;
  const GradeObserver& observer;
  Submission& submission;
  CheckResult& checked;  ///< gets cases, runs, findings and warnings
  Machine& machine;
};

/// Checks one stage with the requested rules and precision class. False if there is a finding.
bool check_stage(const CheckContext& context, StageInfo stage, const std::vector<int>& batches,
                 std::uint64_t seed, GradedNetwork& network);

/// Judges what the program's start has shown, before there is any stage. False if there is a
/// finding.
bool starts(const CheckContext& context, const std::optional<Finding>& finding);

/// Stores and reports a finding; false if there is one.
bool passes(const CheckContext& context, const StageInfo& stage,
            const std::optional<Finding>& finding);

/// The exercises of the first milestones must handle every shape; a stage's declaration does not
/// matter.
bool supports_one_network(const GradeRequest& request, const StageInfo& stage);

Rules rules_of(const GradeRequest& request);

/// The element-wise cases of a stage.
CasePlan plan_for(const GradeRequest& request, const StageInfo& stage,
                  const std::vector<int>& batches);

}  // namespace convlab::grader
