#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "common/serve/finding.hpp"

namespace convlab {
class JsonFields;

void json_fields(JsonFields& fields, Mend& mend);
void json_fields(JsonFields& fields, Finding& finding);
}  // namespace convlab

namespace convlab::grader {

/// "The smallest case that fails: …", and at which shapes it fails; empty if unknown.
std::string smallest_case_text(const Finding& finding);

/// "A small change in conv_forward.cpp:29 makes every case right."; empty if none is known.
std::string mend_lines_text(const Finding& finding);

/// What the changes have in common, "The change concerns …"; empty if that is nothing.
std::string mend_kind_text(const Finding& finding);

/// One of the changes, each line before and after it; empty if none is known.
std::string mend_change_text(const Finding& finding);

/// All that was seen: the smallest case, `seen`, the picture.
std::string seen_text(const Finding& finding);

/// One element-wise case of a check.
struct CaseResult {
  std::string stage{};
  std::string name{};
  ConvShape shape{};
  std::uint64_t seed = 0;
  bool exact = false;  ///< integer-valued inputs
  ErrorMeasure error{};
  Verdict verdict = Verdict::kPassed;
};

/// What is asked of a stage.
enum class Experiment {
  kStart,           ///< of the whole program: it is built, starts and lists its stages
  kPrecision,       ///< how exactly it computes
  kCases,           ///< the element-wise cases
  kHiddenShapes,    ///< drawn shapes, then known ones in another order
  kNarrowIndex,     ///< shapes at which a float or a half no longer holds an index
  kPhases,          ///< which phase computes
  kSmallChanges,    ///< whether each number of the input matters
  kRepeatedInputs,  ///< whether a repeated input takes less time
  kStillness,       ///< whether threads go on after a call
  kSecondConvolve,  ///< convolve twice between prolog and epilog
  kLittleMemory,    ///< with so little memory that a batch takes several slices
  kOrders,          ///< threads and streams in another order
  kTeam,            ///< races of OpenMP's threads
  kLeaks,           ///< memory, streams and graphs that each call leaves
  kNetwork,         ///< the network at each batch
  kHiddenBatches,   ///< the network at batches from random places
  kRehearsal,       ///< the cases, orders and leaks of a GPU's file, emulated
  kRaces,           ///< what orders the threads, with every access observed
  kQuickCases,      ///< a few cases once more
  kFailedCase,      ///< the case that failed once more
  kLines,           ///< which lines make a wrong output
  kTaskRules,       ///< what the task of an edition asks beside right outputs
  kSpeed,           ///< timed in turns with the reference solution
  kSource,          ///< what the compiler warns of, and lines that may be the cause
};

/// How the stage runs meanwhile.
enum class Mode {
  kPlain,           ///< as its milestone runs it
  kEmulated,        ///< a file for a GPU, emulated
  kObserved,        ///< emulated; every access to memory is a call
  kReadsForgiven,   ///< emulated; reads beyond an allocation get zeros
  kNumbersBeyond,   ///< emulated; they get other numbers, twice
  kInStep,          ///< observed; lanes of a warp meet where most GPUs let them meet
  kInStepForgiven,  ///< both
  kGuarded,         ///< on a GPU, with unmapped memory behind each allocation
  kOneThread,       ///< with one thread of OpenMP
};

/// How a run ended. Only kRight speaks for the stage.
enum class RunEnd { kNone, kRight, kWrong, kFault, kExit, kTimeout, kFlood, kMemory, kNotBuilt };

const char* to_string(Experiment experiment);
const char* to_string(Mode mode);
const char* to_string(RunEnd end);

/// Two accesses that nothing orders, in whatever order they happened.
struct Race {
  Finding finding{};
  bool is_between_warps = false;     ///< not only lanes of a warp that do not wait for each other
  bool stores_twice = false;         ///< two threads store in one element: its index may be wrong
  bool is_in_device_memory = false;  ///< not in shared memory
  bool is_one_number = false;        ///< of a variable that is no array
  std::string meeting_places{};      ///< where lanes must meet so that they run as on most GPUs
};

/// One experiment and what it has shown. Whoever runs it writes it; then nobody changes it.
struct Record {
  Experiment experiment = Experiment::kCases;
  Mode mode = Mode::kPlain;
  Precision precision = Precision::kFp32;  ///< in which outputs were compared, or that was found
  RunEnd end = RunEnd::kNone;
  std::optional<Finding> finding{};        ///< what is wrong
  std::optional<Finding> remark{};         ///< what is noticed although the numbers are right
  std::optional<Race> race{};              ///< of kRaces
  std::vector<std::string> wrong_cases{};  ///< names of cases that an experiment got wrong
  Seen lines{};                            ///< of kLines and kSource: quoted
  std::string warnings{};                  ///< of kSource: the compiler's
  std::vector<CaseResult> cases{};         ///< of kCases; a result file holds those that count
  std::vector<RunResult> runs{};           ///< of kNetwork; the same
};

/// Which cases and runs of a stage give points.
struct CountedRuns {
  Precision precision = Precision::kFp32;  ///< the class in which it was judged
  Mode counts = Mode::kPlain;              ///< the runs that give points
  std::set<std::string> wrong_cases{};     ///< give none although they passed
  bool takes_all = false;                  ///< no case gives points
  bool takes_network = false;              ///< no run of the network gives points

  friend bool operator==(const CountedRuns&, const CountedRuns&) = default;
};

/// What a stage must satisfy.
struct Demands {
  bool any_shape = true;            ///< it must be right at every shape
  bool finds_precision = false;     ///< the tightest class that it keeps is its class
  bool one_case = false;            ///< only this case is asked
  std::set<std::string> refused{};  ///< findings that are no mere warnings
  bool forgives = false;            ///< what GPUs forgive is a warning: the course's rules
  bool prolog_may_compute = false;  ///< the whole work may be done in prolog
  bool has_task_rules = false;      ///< a right file must keep them, too
};

/// All that is known about a stage.
struct Evidence {
  std::string stage{};                     ///< empty: of the whole program
  Demands demands{};                       ///< for which it was collected
  Device device = Device::kCpu;            ///< where it runs plainly
  Precision precision = Precision::kFp32;  ///< its class, unless that is to be found
  bool can_emulate = false;                ///< its source is here and is for a GPU
  bool has_regions = false;                ///< its source has parallel regions of OpenMP
  std::optional<std::string> only_for{};   ///< the network that it supports, if it is another one
  std::vector<Record> records{};           ///< in the order of the runs

  /// The record of this experiment; null if it has not run.
  [[nodiscard]] const Record* find(Experiment experiment, Mode mode,
                                   std::optional<Precision> precision = {}) const;
};

// As common/result/json_fields.hpp describes: all that judge() reads.
void json_fields(JsonFields& fields, Evidence& evidence);
void json_fields(JsonFields& fields, CountedRuns& runs);

}  // namespace convlab::grader
