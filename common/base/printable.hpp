#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convlab {

/// Makes untrusted text safe for a terminal and for JSON. All code that receives a name, a message
/// or an output of a submission calls this where the text enters. Each of these becomes one U+FFFD
/// (�): control characters except line feed and tab, bytes that are not UTF-8, and invisible
/// characters that change how others are shown (direction, joiners, separators, tags).
/// Source: Unicode Standard 15.0, chapter 23; Unicode Technical Report 36, section 2.
std::string printable(std::string_view text);

/// The same on one line: line feeds and tabs become spaces. For names and messages.
std::string printable_line(std::string_view text);

/// The same of at most `columns` columns, where all that looks blank becomes one space: blanks
/// cannot move words to the next line of a terminal. A longer text ends in "…". For titles.
std::string short_line(std::string_view text, int columns);

/// Whether a text is a name of a stage, a network or a milestone: 1 to 40 of a-z, 0-9 and '-'.
bool is_id(std::string_view text);

/// Columns that a terminal needs for UTF-8 text: none for a mark on another character, two for the
/// wide characters of East Asia and pictures.
int display_width(std::string_view text);

/// The parts of a text that need at most `columns` columns each; at least one.
std::vector<std::string> cut_to_columns(std::string_view text, int columns);

/// Makes std::cout and std::cerr of a program safe, whoever forgets to: all that they print is
/// printable() first. Colours come from `terminal_colour` only.
void print_safely();

/// A place in a text where std::cout changes the colour after print_safely(); a terminal's own
/// sequence would be replaced. Nothing that is printable() contains one.
enum class TerminalColour { kPlain, kGood, kBad, kQuiet, kStrong };
std::string terminal_colour(TerminalColour colour);

}  // namespace convlab
