#pragma once

#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"

namespace convlab::grader {

/// Prints the JSON of a command with --json on standard output. Replaces bytes of file names that
/// are not UTF-8.
inline void print_json(const Json& json) {
  std::cout << json_text(json, 2) << "\n";
}

}  // namespace convlab::grader
