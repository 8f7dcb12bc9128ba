#pragma once

#include <string>
#include <vector>

namespace convlab {

/// Without the ends of lines.
std::vector<std::string> lines_of(const std::string& text);

/// Without spaces at both ends.
std::string trimmed(const std::string& text);

/// `text` with some lines changed.
/// @param change  lines that begin with '-' are found one after the other in `text`, whatever their
///                indentation, and those that begin with '+' take their place; others are comments
/// @param where   names text and change in the message
/// @throws std::runtime_error if a line with '-' is not there, or one with '+' has none before it
std::string with_changed_lines(const std::string& text, const std::string& change,
                               const std::string& where);

}  // namespace convlab
