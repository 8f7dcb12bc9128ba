#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/checks/result/finding.hpp"
#include "grader/checks/result/score.hpp"

namespace convlab {
class JsonFields;
}

namespace convlab::grader {

/// One element-wise case of a check.
struct CaseResult {
  std::string stage{};
  std::string name{};
  ConvShape shape{};
  std::uint64_t seed = 0;
  bool exact = false;  ///< integer-valued inputs
  ErrorMeasure error{};
  Verdict verdict = Verdict::kPassed;

  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

/// A student's file at the time of the check.
struct SourceFile {
  std::string path{};    ///< from the root of the tree
  std::string sha256{};  ///< hexadecimal

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

/// The result of a check: networks and times as in any program's result, and the grader's own data.
/// One file holds all of it; common/result reads its own part of the same file.
struct CheckResult {
  Result result{};
  std::vector<CaseResult> cases{};
  std::vector<Finding> findings{};
  std::vector<Finding> warnings{};    ///< faults that the rules forgive
  std::string rules{};                ///< "course"; empty if every shape must be right
  std::string isolation{};            ///< the mechanisms that isolated the submission
  std::optional<Score> score{};       ///< if the milestone has rules for it
  std::vector<SourceFile> sources{};  ///< the checked program's source files, if known

  friend bool operator==(const CheckResult&, const CheckResult&) = default;
};

/// As common/result/json_fields.hpp describes; also part of other files.
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
