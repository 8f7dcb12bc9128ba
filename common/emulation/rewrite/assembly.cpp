#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/emulation/ptx/translate.hpp"
#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

/// What a string literal without prefix says; nothing for another token.
std::optional<std::string> string_value(const Token& token) {
  if (token.kind != Token::Kind::kString || token.text.size() < 2 || token.text.front() != '"')
    return std::nullopt;
  std::string value;
  const std::string_view inside = token.text.substr(1, token.text.size() - 2);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      value += inside[i];
      continue;
    }
    const char escaped = inside[++i];
    // The end of a line joins it with the next one.
    if (escaped != '\n') value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
  }
  return value;
}

class AssemblyRewriter {
 public:
  AssemblyRewriter(const File& file, std::size_t keyword)
      : source_(file.source), editor_(file.editor), keyword_(keyword) {}

  void run() {
    std::size_t open = keyword_ + 1;
    while (source_.is(open, "volatile") || source_.is(open, "__volatile__")) ++open;
    if (!source_.is(open, "(") || !source_.opens(open)) return refuse("this statement");
    const std::size_t close = source_.partner(open);
    ptx::AsmStatement statement;
    if (!take_apart(open + 1, close, statement)) return refuse("this statement");
    ptx::Translation translation = ptx::translate(statement);
    if (!translation.refusal.empty()) return refuse(translation.refusal);
    editor_.insert(source_[keyword_].offset, std::move(translation.code));
    editor_.blank(source_[keyword_].offset, source_[close].end());
    editor_.insert(source_[close].end(), editor_.anchor(close, source_[close].end()));
  }

 private:
  /// "…" "…" : outputs : inputs : clobbers
  bool take_apart(std::size_t i, std::size_t end, ptx::AsmStatement& statement) const {
    const std::size_t begin = i;
    for (; i < end && !source_.is(i, ":") && !source_.is(i, "::"); ++i) {
      const auto value = string_value(source_[i]);
      if (!value) return false;
      statement.code += *value;
    }
    int section = 0;
    while (i < end) {
      if (source_.is(i, ":") || source_.is(i, "::")) {
        section += source_.is(i, "::") ? 2 : 1;
        ++i;
      } else if (source_.is(i, ",") || section > 2) {
        ++i;  // clobbers say nothing here
      } else {
        const auto constraint = string_value(source_[i]);
        if (!constraint || !source_.is(i + 1, "(") || !source_.opens(i + 1)) return false;
        const std::size_t close = source_.partner(i + 1);
        statement.operands.push_back({*constraint, source_.text(i + 2, close)});
        i = close + 1;
      }
    }
    return i > begin;
  }

  void refuse(const std::string& what) const {
    const std::string message = string_literal(joined(
        {"inline PTX: ", what,
         " cannot run in device emulation (docs/emulation.md lists what can): use a function "
         "of CUDA, or put it between #if !CONVLAB_EMULATED and #endif"}));
    editor_.insert(source_[keyword_].offset, joined({"static_assert(false, ", message, "); "}));
  }

  const Source& source_;
  Editor& editor_;
  std::size_t keyword_;
};

}  // namespace

void rewrite_assembly(const File& file, std::size_t keyword) {
  AssemblyRewriter(file, keyword).run();
}

}  // namespace convlab::rewrite
