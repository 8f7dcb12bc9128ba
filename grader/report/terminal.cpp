#include "grader/report/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace convlab::grader {

std::string coloured(const std::string& text, Colour colour) {
  static const bool is_wanted = [] {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
           terminal != nullptr && std::string_view(terminal) != "dumb";
  }();
  return is_wanted ? terminal_colour(colour) + text + terminal_colour(Colour::kPlain) : text;
}

static std::string padding(const std::string& text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
}

std::string left(const std::string& text, int width) {
  return text + padding(text, width);
}

std::string right(const std::string& text, int width) {
  return padding(text, width) + text;
}

std::string paragraph(const std::string& label, const std::string& text) {
  return hanging(label, display_width(label), text);
}

std::string hanging(const std::string& label, int indent, const std::string& text) {
  std::string result = label;
  int column = indent;
  constexpr const char* kSpaces = " \t\n\v\f\r";
  const auto new_line = [&] {
    result.append(1, '\n').append(static_cast<std::size_t>(indent), ' ');
    column = indent;
  };
  for (std::size_t at = text.find_first_not_of(kSpaces); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    at = text.find_first_not_of(kSpaces, end);
    if (column != indent && column + 1 + display_width(word) > kColumns) {
      new_line();
    } else if (column != indent) {
      result += ' ';
      ++column;
    }
    // A terminal would wrap a longer word to the first column.
    bool first = true;
    for (const std::string& part : cut_to_columns(word, std::max(8, kColumns - indent))) {
      if (!first) new_line();
      first = false;
      result += part;
      column += display_width(part);
    }
  }
  result.erase(result.find_last_not_of(' ') + 1);
  return result + "\n";
}

ProgressLine::ProgressLine() : enabled_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(const std::string& text) {
  if (!enabled_) {
    // Numbers that change while it waits make no new line.
    const std::string begin = text.substr(0, text.find(':'));
    if (!text.starts_with("waiting ") || begin == waits_) return;
    waits_ = begin;
    std::fprintf(stderr, "%s\n", printable_line(text).c_str());
    return;
  }
  const std::string line = cut_to_columns(printable_line(text), kColumns - 1).front();
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace convlab::grader
