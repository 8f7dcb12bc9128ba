#include "common/emulation/rewrite/editor.hpp"

#include <algorithm>

namespace convlab::rewrite {

void Editor::blank(std::size_t begin, std::size_t end) {
  std::string blank(text_.substr(begin, end - begin));
  std::replace_if(
      blank.begin(), blank.end(), [](char c) { return c != '\n' && c != '\t'; }, ' ');
  replace_range(begin, end - begin, std::move(blank));
}

std::string Editor::anchor(std::size_t token, std::size_t offset) const {
  if (source_[token].directive != 0 || source_.in_parentheses(token)) return " ";
  std::string result = "\n#line ";
  result += std::to_string(source_[token].line) + "\n";
  constexpr std::size_t kMostColumns = 1000;  // nobody looks farther to the right
  const std::size_t first = offset - std::min(offset, kMostColumns);
  const std::string_view before = text_.substr(first, offset - first);
  const std::size_t line_end = before.rfind('\n');
  if (line_end == before.npos && first > 0) return result;
  for (const char c : before.substr(line_end + 1)) result += c == '\t' ? '\t' : ' ';
  return result;
}

Rewritten Editor::finish() {
  std::ranges::stable_sort(edits_, {}, &Edit::offset);
  Rewritten result;
  result.changed = !edits_.empty();
  std::size_t position = 0;
  for (const Edit& edit : edits_) {
    if (edit.offset < position) continue;
    result.text += text_.substr(position, edit.offset - position);
    result.text += edit.inserted;
    position = edit.offset + edit.removed;
  }
  result.text += text_.substr(position);
  result.diagnostics = std::move(diagnostics_);
  return result;
}

std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace convlab::rewrite
