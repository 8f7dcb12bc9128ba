#include "grader/checks/mend/atoms.hpp"

namespace convlab::grader::mend {

using rewrite::Source;
using rewrite::Token;

bool is_type(std::string_view text) {
  static const rewrite::Words words = rewrite::words_of(
      "int float double char short long unsigned signed bool auto const void size_t ptrdiff_t "
      "half");
  return words.contains(text) || text.starts_with("int") || text.starts_with("uint");
}

std::vector<Atom> atoms_in(const Source& source, std::size_t begin, std::size_t end) {
  std::vector<Atom> atoms;
  for (std::size_t i = begin; i < end;) {
    const Token& token = source[i];
    if (token.kind == Token::Kind::kNumber) {
      atoms.push_back({i, i + 1, false, true});
      ++i;
      continue;
    }
    if (token.kind != Token::Kind::kIdentifier) {
      ++i;
      continue;
    }
    const std::size_t first = i++;
    bool is_qualified = false;
    while (i + 1 < end && (source.is(i, ".") || source.is(i, "->") || source.is(i, "::")) &&
           source[i + 1].kind == Token::Kind::kIdentifier) {
      is_qualified |= source.is(i, "::");
      i += 2;
    }
    const bool is_member = i > first + 1 && !is_qualified;
    if (is_type(token.text) || token.text.ends_with("_cast") || token.is("std") ||
        rewrite::is_keyword(token.text)) {
      continue;
    }
    if (is_member && source.is(i, "(") && source.is(i + 1, ")") && i + 1 < end) {
      i += 2;
    } else if (source.is(i, "(") ||
               source.is_triple(behind_arguments_of_kernel(source, i, end), '<') ||
               (i < end && source[i].kind == Token::Kind::kIdentifier)) {
      continue;  // a call, a launch, or a type
    }
    atoms.push_back({first, i, source.is(i, "["), false});
  }
  return atoms;
}

std::map<std::string, std::string> types_in(const Source& source) {
  std::map<std::string, std::string> types;
  for (std::size_t i = 1; i < source.size(); ++i) {
    if (source[i].kind != Token::Kind::kIdentifier) continue;
    for (const char* type : {"dim3", "cudaStream_t", "cudaEvent_t"}) {
      if (source.is(i - 1, type)) types[std::string(source[i].text)] = type;
    }
    std::size_t type = i;
    while (type > 0 && (source.is(type - 1, "*") || source.is(type - 1, "__restrict__"))) --type;
    if (type == i || type < 2 || source.is(i, "const")) continue;
    // float *a, *b;
    const auto before =
        source.is(type - 1, ",") ? types.find(std::string(source[type - 2].text)) : types.end();
    if (before != types.end()) types[std::string(source[i].text)] = before->second;
    if (!is_type(source[type - 1].text)) continue;
    types[std::string(source[i].text)] =
        source.is(type - 2, "const") ? kConstantPointer : "pointer";
  }
  return types;
}

std::size_t behind_arguments_of_kernel(const Source& source, std::size_t i, std::size_t end) {
  if (!source.is(i, "<") || source.is_triple(i, '<')) return i;
  for (std::size_t at = i; at + 1 < end && !source.opens(at) && !source.is(at, ";"); ++at) {
    if (source.is(at, ">") && source.is_triple(at + 1, '<')) return at + 1;
  }
  return i;
}

bool takes_address(const Source& source, std::size_t i) {
  return i > 1 && source.is(i - 1, "&") &&
         (source.is(i - 2, "(") || source.is(i - 2, ",") || source.is(i - 2, "=") ||
          source.is(i - 2, ")"));
}

}  // namespace convlab::grader::mend
