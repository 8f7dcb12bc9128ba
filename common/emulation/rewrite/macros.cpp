#include "common/emulation/rewrite/macros.hpp"

#include <algorithm>

namespace convlab::rewrite {
namespace {

using TokenTexts = std::vector<std::string>;

/// The arguments in parentheses from `open` on, each as its tokens; empty without a closing one.
std::vector<TokenTexts> split_arguments(const TokenTexts& words, std::size_t open) {
  std::vector<TokenTexts> arguments(1);
  int depth = 0;
  for (std::size_t i = open; i < words.size(); ++i) {
    const bool opens = words[i] == "(" || words[i] == "[" || words[i] == "{";
    const bool closes = words[i] == ")" || words[i] == "]" || words[i] == "}";
    if (closes && --depth == 0) return arguments;
    if (depth == 1 && words[i] == ",")
      arguments.emplace_back();
    else if (depth > 0)
      arguments.back().push_back(words[i]);
    if (opens) ++depth;
  }
  return {};
}

std::string joined_arguments(const std::vector<TokenTexts>& arguments) {
  std::string text;
  for (const TokenTexts& argument : arguments) {
    if (!text.empty()) text += ", ";
    for (std::size_t i = 0; i < argument.size(); ++i) text += (i > 0 ? " " : "") + argument[i];
  }
  return text;
}

TokenTexts expanded(const Macro& macro, const std::vector<TokenTexts>& arguments) {
  TokenTexts result;
  for (const std::string& word : macro.replacement) {
    const auto parameter = std::ranges::find(macro.parameters, word);
    const auto index = static_cast<std::size_t>(parameter - macro.parameters.begin());
    if (index < arguments.size() && parameter != macro.parameters.end())
      result.insert(result.end(), arguments[index].begin(), arguments[index].end());
    else
      result.push_back(word);
  }
  return result;
}

/// Looks for __launch_bounds__ in words[at], a macro's name, with its arguments behind it.
std::optional<std::string> search(const Source& source, const TokenTexts& words, std::size_t at,
                                  const MacroTable& macros, int depth) {
  constexpr int kDeepest = 8;  // a macro does not expand itself; this is enough for any program
  const auto found = macros.find(words[at]);
  if (found == macros.end() || found->second.definitions > 1 || depth > kDeepest)
    return std::nullopt;
  const Macro& macro = found->second;
  source.take_steps(words.size() + macro.replacement.size() * (1 + macro.parameters.size()));
  std::vector<TokenTexts> arguments;
  if (macro.takes_arguments) arguments = split_arguments(words, at + 1);
  const TokenTexts text = expanded(macro, arguments);
  if (std::ranges::find(text, "{") != text.end()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == "__launch_bounds__") {
      const std::vector<TokenTexts> bounds = split_arguments(text, i + 1);
      if (bounds.empty()) return std::nullopt;
      return joined_arguments(bounds);
    }
    if (auto inner = search(source, text, i, macros, depth + 1)) return inner;
  }
  return std::nullopt;
}

bool holds_configuration(const TokenTexts& words) {
  const auto is_triple = [&](std::size_t i, const char* word) {
    return std::count(words.begin() + static_cast<std::ptrdiff_t>(i),
                      words.begin() + static_cast<std::ptrdiff_t>(i) + 3, word) == 3;
  };
  return words.size() > 6 && is_triple(0, "<") && is_triple(words.size() - 3, ">");
}

}  // namespace

void collect_macros(const Source& source, MacroTable& macros) {
  for (std::size_t i = 0; i + 2 < source.size(); ++i) {
    const int directive = source[i].directive;
    const bool begins = directive != 0 && (i == 0 || source[i - 1].directive != directive);
    if (!begins || !source.is(i, "#") || !source.is(i + 1, "define")) continue;
    const Token& name = source[i + 2];
    Macro macro;
    std::size_t j = i + 3;
    if (source.is(j, "(") && source[j].offset == name.end() && source.partner(j) < source.size()) {
      macro.takes_arguments = true;
      for (; j < source.partner(i + 3); ++j)
        if (source[j].kind == Token::Kind::kIdentifier)
          macro.parameters.emplace_back(source[j].text);
      ++j;
    }
    for (; j < source.size() && source[j].directive == directive; ++j)
      macro.replacement.emplace_back(source[j].text);
    const bool is_configuration = holds_configuration(macro.replacement);
    const auto [entry, added] = macros.emplace(name.text, std::move(macro));
    if (!added) ++entry->second.definitions;
    // Elsewhere, for an editor that does not know CUDA, the macro is often empty.
    if (is_configuration) entry->second.is_configuration = true;
  }
}

std::optional<std::string> launch_bounds_of(const Source& source, std::size_t use,
                                            const MacroTable& macros) {
  TokenTexts words{std::string(source[use].text)};
  if (source.is(use + 1, "(") && source.partner(use + 1) < source.size())
    for (std::size_t i = use + 1; i <= source.partner(use + 1); ++i)
      words.emplace_back(source[i].text);
  return search(source, words, 0, macros, 0);
}

}  // namespace convlab::rewrite
