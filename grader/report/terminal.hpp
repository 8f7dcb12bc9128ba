#pragma once

#include <string>

#include "common/base/printable.hpp"

namespace convlab::grader {

/// The grader prints at most this many columns.
inline constexpr int kColumns = 80;

using Colour = TerminalColour;

/// Text in colour if standard output is a terminal with colours: not a file, not with NO_COLOR set
/// (https://no-color.org), not a dumb terminal.
std::string coloured(const std::string& text, Colour colour);

/// `text`, padded with spaces to `width`, after it or before it.
std::string left(const std::string& text, int width);
std::string right(const std::string& text, int width);

/// Paragraph of kColumns: the first line begins with `label`, the others are indented as far.
std::string paragraph(const std::string& label, const std::string& text);

/// The same after a label that is `indent` wide on the screen, not counting colour codes.
std::string hanging(const std::string& label, int indent, const std::string& text);

/// One line of progress on standard error that the next one overwrites. Where that is no terminal,
/// it prints only what it waits for ("waiting …"), a line for the first of equal ones.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void show(const std::string& text);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::string waits_{};  // how the last line printed where there is no terminal begins
};

}  // namespace convlab::grader
