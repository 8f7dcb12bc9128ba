#pragma once

#include <nlohmann/json_fwd.hpp>

namespace convlab::grader {

/// Prints the JSON of a command with --json on standard output. Replaces bytes of file names that
/// are not UTF-8.
void print_json(const nlohmann::ordered_json& json);

}  // namespace convlab::grader
