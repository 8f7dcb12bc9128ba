#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grader/class/database.hpp"

namespace convlab::grader {

/// The rules of a term, from term.json (docs/class.md). Times are seconds since 1970, UTC.
struct Term {
  std::string name{};  ///< "SP27"
  std::int64_t begins = 0;
  std::int64_t ends = 0;
  int late_days = 0;          ///< that each student may use in the term without a penalty
  double penalty = 0.0;       ///< percent of the earned points, for each further day
  int closes_after = 0;       ///< days after the due date; then nothing is earned. 0: never
  bool best = false;          ///< the best attempt counts, not the last
  int attempts_per_hour = 0;  ///< of one student in one milestone; 0: as many as they like
  std::string rules{};        ///< --rules of every check; empty: those of the milestone
  std::string precision{};    ///< --precision, as above
  std::map<std::string, std::int64_t> due{};  ///< by milestone
  /// Other due dates, by student and milestone.
  std::map<std::pair<std::string, std::string>, std::int64_t> extensions{};
};

/// @param name      of the file, for messages
/// @param students  extensions are for these; empty: anybody
/// @param strict    an extension for somebody else is an error; otherwise it stands as it is
/// @throws UsageError, a sentence that names the field and what is wrong with it
Term parse_term(const std::string& text, const std::string& name,
                const std::vector<Student>& students, bool strict = true);

/// The rules that a database holds; none if it holds no term file.
Term term_in_force(const ClassDatabase& database);

/// Seconds since 1970 of "2027-02-01T23:59-06:00" or "2027-02-02T05:59:00Z"; none if it is no such
/// time, or has no zone.
std::optional<std::int64_t> time_of(const std::string& text);

/// An attempt under the rules of a term.
struct SettledAttempt {
  SubmissionRow row{};
  double points = 0.0;  ///< after the penalty
  int late = 0;         ///< days after the due date, each begun day whole
  int free = 0;         ///< of these, without a penalty
  bool closed = false;  ///< so late that it earns nothing
  bool last = false;    ///< the last attempt that was graded and not revoked
  bool best = false;    ///< the one with most points after the penalty
  bool counts = false;  ///< one of the two
};

/// What each attempt is worth, in the order of `rows`. Late days are used up in the order of the
/// due dates, by the attempts that count. Revoked attempts never count.
/// @param rows  of ClassDatabase::submissions, of all milestones: late days are those of a term
std::vector<SettledAttempt> settled(const std::vector<SubmissionRow>& rows, const Term& term);

/// The attempts that count, with their points after the penalty.
std::vector<SubmissionRow> counting(const std::vector<SubmissionRow>& rows, const Term& term);

}  // namespace convlab::grader
