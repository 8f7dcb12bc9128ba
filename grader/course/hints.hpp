#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace convlab::grader {

/// Lists of hints, each from a nudge to nearly the code. hints.json, beside the chapter, has one
/// for each stage, by its id, and "general" for the whole milestone; finding_hints.json has one for
/// each finding.
using Hints = std::map<std::string, std::vector<std::string>>;

/// @throws EnvironmentError that names the file if it is not such a file, or a list is empty
Hints read_hints(const std::filesystem::path& file);

/// The requested list.
/// @param milestone  for messages, "m4"
/// @param stage      empty: the general one
/// @throws UsageError if the stage has none
const std::vector<std::string>& hints_of(const Hints& hints, const std::string& milestone,
                                         const std::string& stage);

}  // namespace convlab::grader
