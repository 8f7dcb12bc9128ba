#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/checks/result/check_result.hpp"

namespace convlab::grader {

/// One check in the history: its stages and findings.
struct HistoryEntry {
  std::string created{};
  std::string milestone{};
  std::vector<std::string> stages{};  ///< those that were checked
  std::vector<Finding> findings{};    ///< without cause and next; `seen` is its smallest case
};

/// A mistake from the first check that found it to the first that no longer found it.
struct MendedMistake {
  std::string milestone{};
  std::string stage{};  ///< empty: of the whole program
  std::string id{};
  std::string title{};
  std::string seen{};    ///< UTC
  std::string mended{};  ///< UTC; empty while it is still there
  int checks = 0;        ///< how many checks found it
};

/// Adds a check: one line of JSON, in one piece. Of what a finding has seen it keeps the smallest
/// failing case and its picture. @throws EnvironmentError if the file cannot be written
void append_history(const std::filesystem::path& file, const CheckResult& check);

/// All entries, oldest first; none if there is no file. Unreadable lines are left out.
std::vector<HistoryEntry> read_history(const std::filesystem::path& file);

/// The lines of a milestone in a history, as they stand there.
std::string history_of(const std::filesystem::path& file, const std::string& milestone);

/// Adds such lines to a history, without those that it has. @throws EnvironmentError as above
void keep_history(const std::filesystem::path& file, const std::string& lines);

/// The mistakes of a milestone, in the order in which they were first seen.
std::vector<MendedMistake> mended_mistakes(const std::vector<HistoryEntry>& history,
                                           const std::string& milestone);

}  // namespace convlab::grader
