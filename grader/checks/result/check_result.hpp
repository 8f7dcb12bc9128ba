#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "common/serve/finding.hpp"
#include "grader/checks/result/evidence.hpp"

namespace convlab {
class JsonFields;
}

namespace convlab::grader {

/// The outcome of one item of points.
enum class Credit {
  kEarned,       ///< all of them
  kPartial,      ///< some, or none
  kUndecided,    ///< measured, but noise decides how many; the largest possible number counts
  kNotMeasured,  ///< counts neither for nor against
};

/// "earned", "partial", "undecided", "not-measured".
const char* to_string(Credit credit);

/// A stage and the reference solution, timed in turns on the same machine, with all samples: one
/// series per convolution in the order in which they were taken.
struct SpeedMeasure {
  std::string reference{};  ///< stage of the reference solution
  std::vector<std::vector<double>> yours_ms{};
  std::vector<std::vector<double>> reference_ms{};
  double speed = 0.0;  ///< reference's time over yours, sums of the convolutions' medians
  double low = 0.0;    ///< 95 % of the resampled series lie between low and high
  double high = 0.0;
  std::optional<double> bound_ms{};  ///< the least time of any program, if known
  int rounds = 0;

  friend bool operator==(const SpeedMeasure&, const SpeedMeasure&) = default;
};

/// The sum of the convolutions' medians, in milliseconds.
double sum_of_medians(const std::vector<std::vector<double>>& series);

/// What was measured for one item: a speed, counters, a finding, or why there is none of these.
struct Measured {
  std::string stage{};
  int batch = 0;  ///< of a speed
  std::optional<SpeedMeasure> speed{};
  std::map<std::string, double> counters{};  ///< by id; none of what the stage has nothing of
  std::optional<Finding> finding{};
  std::string why_not{};
};

/// How many of the puzzles before a milestone are solved.
struct SolvedPuzzles {
  int solved = 0;
  int all = 0;
};

/// What the points of a check are made from, beside its cases and runs. A result file keeps it, so
/// that other rules can give other points without another run.
struct ScoreBasis {
  std::optional<std::string> only_stage{};  ///< the check was restricted to this one
  std::vector<int> batches{};               ///< and to these
  std::string network{};
  bool emulated = false;  ///< no op times: without a GPU, or of a CPU's emulation
  std::size_t cases_in_all = 0;
  std::map<std::string, std::size_t> cases_of{};     ///< of stages with their own plan
  std::optional<SolvedPuzzles> puzzles{};            ///< none: they were not checked
  std::optional<std::set<std::string>> predicted{};  ///< stages; none: nobody looked
  std::vector<Measured> measured{};  ///< for each rule for speed or counters, where possible
  std::map<std::string, CountedRuns> counted{};  ///< by stage: what `cases` and `runs` hold
};

/// One line of the table of points.
struct ScoreItem {
  std::string stage{};
  std::string item{};  ///< "runs", "cases", "network", "speed"
  int batch = 0;       ///< of network and speed
  double points = 0.0;
  double earned = 0.0;
  Credit credit = Credit::kNotMeasured;
  std::string yours{};
  std::string reference{};
  std::string why{};
  std::optional<SpeedMeasure> speed{};
  bool lacks_technique = false;  ///< of a technique that the counters do not show
};

/// Stages among which a student chooses: together they give at most `most` points.
struct ScoreChoice {
  double most = 0.0;
  std::vector<std::string> stages{};

  friend bool operator==(const ScoreChoice&, const ScoreChoice&) = default;
};

/// Partial credit: what a submission earned, item by item.
struct Score {
  std::vector<ScoreItem> items{};
  std::optional<ScoreChoice> choice{};  ///< none: every item counts

  /// Whether the stage is one of the choice.
  [[nodiscard]] bool is_optional(const std::string& stage) const;
  [[nodiscard]] double earned() const;
  /// The points of the items that count: not those that were not measured.
  [[nodiscard]] double counted() const;
  [[nodiscard]] double total() const;
};

/// What the course gave for a file that was handed in for one of its tasks.
struct EditionScore {
  std::string task{};  ///< "sp26-req-0"
  double points = 0.0;
  double earned = 0.0;
  bool counts = false;  ///< false: it was not measured
  std::string why{};
};

/// The course's ranked run: the median of each convolution's calls.
struct RankedTimes {
  int batch = 0;
  std::vector<double> op_ms{};
  std::string how{};      ///< "10 calls on the same buffers after 5, by the host's clock"
  std::string why_not{};  ///< where there are no times
};

/// A student's file at the time of the check.
struct SourceFile {
  std::string path{};    ///< from the root of the tree
  std::string sha256{};  ///< hexadecimal

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

/// The points that a gradebook gets: of the course where they are known, else of the workbook.
struct Points {
  double earned = 0.0;
  double counted = 0.0;
  double total = 0.0;
};

/// The result of a check: networks and times as in any program's result, and the grader's own data.
/// One file holds all of it; common/result reads its own part of the same file.
struct CheckResult {
  Result result{};
  std::vector<CaseResult> cases{};
  std::vector<Finding> findings{};
  std::vector<Finding> warnings{};   ///< faults that the rules forgive
  std::vector<Evidence> evidence{};  ///< of each stage: what judge() has read
  std::string rules{};           ///< "course", or an edition; empty if every shape must be right
  std::string isolation{};       ///< the mechanisms that isolated the submission
  std::optional<Score> score{};  ///< if the milestone has rules for it
  std::optional<ScoreBasis> basis{};      ///< of the score
  std::optional<EditionScore> edition{};  ///< if the course had points for it
  std::optional<RankedTimes> ranked{};    ///< if it was asked for
  std::vector<SourceFile> sources{};      ///< the checked program's source files, if known

  /// None without rules for points.
  [[nodiscard]] std::optional<Points> points() const;
};

// As common/result/json_fields.hpp describes; also parts of other files.
void json_fields(JsonFields& fields, ScoreChoice& choice);
void json_fields(JsonFields& fields, CheckResult& check);

/// The text of the file, docs/results.md.
std::string to_json(const CheckResult& check);

/// The inverse of to_json. @param name  stands for the file in messages
/// @throws EnvironmentError if the text is not JSON, has another schema, or lacks a field
CheckResult parse_check_result(const std::string& text, const std::string& name);

/// As write_result and read_result. @throws EnvironmentError with the reason
void write_check_result(const std::filesystem::path& file, const CheckResult& check);
CheckResult read_check_result(const std::filesystem::path& file);

}  // namespace convlab::grader
