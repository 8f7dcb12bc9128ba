#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convlab::grader {

/// Hints lie beside the chapter, in hints.json: lists of texts, each from a nudge to nearly the
/// code. A file that is one list has hints for the whole milestone; one that is an object has a
/// list "general" and one for each stage, by its id.
struct Hints {
  std::vector<std::string> general{};
  std::map<std::string, std::vector<std::string>> stages{};
};

/// @param needs_general  whether an object must have the list "general"; that of findings has none
/// @throws EnvironmentError that names the file and says what to do if it is not such a file
Hints read_hints(const std::filesystem::path& file, bool needs_general = true);

/// The requested list.
/// @param milestone  for messages, "m4"
/// @param stage      none: the general one
/// @throws UsageError that names the stages with hints if this one has none
const std::vector<std::string>& hints_of(const Hints& hints, const std::string& milestone,
                                         const std::optional<std::string>& stage);

}  // namespace convlab::grader
