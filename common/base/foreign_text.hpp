#pragma once

#include <string>
#include <string_view>

namespace convlab {

// Text that somebody else wrote (names, titles, messages, outputs) goes into another language only
// through these functions; text for a terminal through printable.hpp.

/// Text between the tags of a page, or in an attribute between double quotes.
std::string html_text(std::string_view text);

/// JSON inside a script element of a page: nothing in it ends the element or begins a comment.
/// @param json  JSON, in which such characters stand in strings only
std::string json_in_html(std::string_view json);

/// Text in a line of Markdown that shows as it is: no link, no picture, no tag.
std::string markdown_text(std::string_view text);

/// One field of a CSV file (RFC 4180). Where a spreadsheet would begin a formula, also one that
/// separates fields by semicolons or tabs, an apostrophe stands first. Numbers stay numbers.
std::string csv_field(std::string_view text);

/// One cell in a data block of gnuplot, separated by tabs from the next one. The block's mark must
/// be one that the text cannot know.
std::string gnuplot_cell(std::string_view text);

}  // namespace convlab
