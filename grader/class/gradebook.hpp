#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grader/class/term.hpp"

namespace convlab::grader {

/// What students must know of their attempts that do not count, by student and milestone: that one
/// is revoked, and why; that one waits, until when, and what to do meanwhile.
std::map<std::pair<std::string, std::string>, std::string> notes_on(
    const std::vector<SettledAttempt>& attempts);

/// "64 of 100 points (80 before 3 late days, 2 of them free)".
std::string settled_points(const SettledAttempt& attempt);

/// A CSV file with a line for each student and the points of the attempts that count. Canvas
/// imports its columns that name a student, one for each milestone, and "Points Possible"; Moodle
/// full name, ID number, email address, and for each milestone points and feedback.
/// @param attempts  of settled()
std::string platform_csv(const std::vector<SettledAttempt>& attempts, const ClassDatabase& database,
                         bool for_canvas);

/// One line for each submission, all columns of the list, with and without the rules of the term.
std::string list_csv(const std::vector<SettledAttempt>& attempts);

/// The results.json of a Gradescope autograder: the points, one test for each item of points, the
/// findings in words, and each measured speed on the leaderboard.
/// Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
std::string gradescope_results(const SettledAttempt& attempt, const ClassDatabase& database);

/// What a student reads about an attempt: points with and without the rules of the term, findings,
/// the table of points, comments that are not for staff only.
std::string feedback_text(const SettledAttempt& attempt, const ClassDatabase& database);

/// The comments for the student, one after the other; empty without any.
std::string comments_text(const SubmissionRow& row, const ClassDatabase& database);

}  // namespace convlab::grader
