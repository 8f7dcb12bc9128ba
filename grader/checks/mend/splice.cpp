#include <cctype>

#include "grader/checks/mend/expression.hpp"

namespace convlab::grader::mend {

std::string spliced(const rewrite::Source& source, std::size_t begin, std::size_t end,
                    const std::vector<Splice>& splices) {
  std::string text;
  std::size_t at = begin;
  const auto is_apart = [&](std::size_t token) {  // from the one before it
    return token > begin && token < end && source[token - 1].end() != source[token].offset;
  };
  const auto append = [&text](const std::string& more, bool apart) {
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    const bool meet =
        !text.empty() && !more.empty() && is_word(text.back()) && is_word(more.front());
    text += (apart || meet ? " " : "") + more;
  };
  bool apart = false;
  for (const Splice& each : splices) {
    append(source.text(at, each.begin), apart);
    const bool is_bracket = each.begin == each.end;
    const bool removes = each.text.empty();
    if (!removes) append(each.text, is_apart(each.begin) && each.text != ")");
    apart =
        is_apart(each.end) && (removes ? is_apart(each.begin) : !is_bracket || each.text != "(");
    at = each.end;
  }
  append(source.text(at, end), apart);
  return text;
}

}  // namespace convlab::grader::mend
