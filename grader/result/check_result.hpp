#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/result/finding.hpp"
#include "grader/result/score.hpp"

namespace convlab::grader {

/// One element-wise case of a check.
struct CaseResult {
  std::string stage{};
  std::string name{};
  ConvShape shape{};
  std::uint64_t seed = 0;
  bool exact = false;  ///< integer-valued inputs, compared without any tolerance
  ErrorMeasure error{};
  Verdict verdict = Verdict::kPassed;

  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

/// How a stage does at shapes that do not decide about it.
struct Generality {
  std::string stage{};
  int right = 0;
  int cases = 0;
  std::string first_miss{};  ///< name of a case; empty if all are right

  friend bool operator==(const Generality&, const Generality&) = default;
};

/// A file that a student wrote, as it was when it was checked.
struct SourceFile {
  std::string path{};    ///< from the root of the tree
  std::string sha256{};  ///< hexadecimal

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

/// What a check leaves behind: networks and times as any program's result, and what only the grader
/// knows. One file holds all of it; common/result reads its own part of the same file.
struct CheckResult {
  Result result{};
  std::vector<CaseResult> cases{};
  std::vector<Finding> findings{};
  std::vector<Finding> warnings{};       ///< faults that the rules forgive
  std::string rules{};                   ///< "course"; empty where every shape must be right
  std::vector<Generality> generality{};  ///< under the rules of a course
  std::string isolation{};               ///< what kept the submission from the machine
  std::optional<Score> score{};          ///< where the milestone has rules for it
  std::vector<SourceFile> sources{};     ///< what the checked program was built from, where known

  friend bool operator==(const CheckResult&, const CheckResult&) = default;
};

/// The text of the file, docs/results.md.
std::string to_json(const CheckResult& check);

/// The inverse of to_json. @param name  stands for the file in messages
/// @throws EnvironmentError if the text is no JSON, of another schema, or lacks something
CheckResult parse_check_result(const std::string& text, const std::string& name);

/// As write_result and read_result. @throws EnvironmentError with the reason
void write_check_result(const std::filesystem::path& file, const CheckResult& check);
CheckResult read_check_result(const std::filesystem::path& file);

}  // namespace convlab::grader
