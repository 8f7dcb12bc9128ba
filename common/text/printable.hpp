#pragma once

#include <string>
#include <string_view>

namespace convlab {

/// Makes untrusted text safe for a terminal and for JSON. All code that receives a name, a message
/// or an output of a submission calls this where the text enters. Each of these becomes one U+FFFD
/// (�):
///
/// - control characters except line feed and tab. One of them is ESC, which begins the sequences
/// that move the cursor, colour, and set the window's title
/// - bytes that are not UTF-8
/// - invisible characters that change how others are shown: marks and overrides of the direction of
///   writing, joiners, separators of lines and paragraphs, tags
///
/// Source: Unicode Standard 15.0, chapter 23; Unicode Technical Report 36, section 2.
std::string printable(std::string_view text);

/// The same on one line: line feeds and tabs become spaces. For titles, names and messages.
std::string printable_line(std::string_view text);

}  // namespace convlab
