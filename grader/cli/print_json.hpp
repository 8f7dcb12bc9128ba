#pragma once

#include <nlohmann/json_fwd.hpp>

namespace convlab::grader {

/// What a command with --json prints instead of words, on standard output. Bytes of file names that
/// are no UTF-8 are replaced.
void print_json(const nlohmann::ordered_json& json);

}  // namespace convlab::grader
