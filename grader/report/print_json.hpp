#pragma once

#include <iostream>
#include <nlohmann/json.hpp>

namespace convlab::grader {

/// Prints the JSON of a command with --json on standard output. Replaces bytes of file names that
/// are not UTF-8.
inline void print_json(const nlohmann::ordered_json& json) {
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace convlab::grader
