#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

// Reading and writing JSON costs the compiler a second and more in each file that does so, so only
// json_text.cpp does.

namespace convlab {

/// Keeps the order in which fields are written.
using Json = nlohmann::ordered_json;

/// @param deepest  how many arrays and objects may lie in each other
/// @throws Json::parse_error; EnvironmentError if more do, or an object has too many members
Json parse_json(const std::string& text, int deepest = 1000);

/// The same; null where it throws.
Json parse_json_or_null(const std::string& text);

/// Bytes that are not UTF-8 are replaced: a crashed program may print any, and a file's name may
/// have them.
/// @param indent  -1: all in one line
std::string json_text(const Json& json, int indent = -1);

}  // namespace convlab
