#include "common/emulation/rewrite/functions.hpp"

namespace convlab::rewrite {
namespace {

class HostVariableFinder {
 public:
  HostVariableFinder(const Source& source, const MacroTable& macros, HostVariables& variables)
      : source_(source), macros_(macros), variables_(variables) {}

  void run() {
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (source_[i].directive != 0) continue;
      const bool opens = source_.is(i, "{") && source_.partner(i) < source_.size();
      if (opens &&
          (source_.scope(i + 1) == Scope::kFunction || source_.has(begin_of(i), i, {"enum"})))
        i = source_.partner(i);
      else if (source_[i].kind == Token::Kind::kIdentifier && source_.scope(i) == Scope::kFile)
        add_variable(i);
    }
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t name) const {
    std::size_t begin = name;
    while (begin > 0 && !source_.is(begin - 1, ";") && !source_.is(begin - 1, "{") &&
           !source_.is(begin - 1, "}") && !source_.is(begin - 1, ":") &&
           source_[begin - 1].directive == 0)
      --begin;
    return begin;
  }

  /// Whether none of the words before the name may be, or hide, a qualifier of the device.
  [[nodiscard]] bool is_of_host(std::size_t begin, std::size_t name) const {
    static const Words others = {
        "__device__", "__constant__", "__shared__", "__managed__", "__global__",   "constexpr",
        "consteval",  "typedef",      "using",      "template",    "operator",     "friend",
        "struct",     "class",        "enum",       "union",       "namespace",    "=",
        "(",          "extern",       "concept",    "auto",        "thread_local", "return",
        "texture"};
    if (begin >= name || (begin > 0 && source_[begin - 1].directive != 0)) return false;
    for (std::size_t i = begin; i < name; ++i) {
      if (others.contains(source_[i].text)) return false;
      if (source_[i].kind == Token::Kind::kIdentifier && may_be_macro(source_[i].text, macros_))
        return false;
    }
    return true;
  }

  void add_variable(std::size_t name) {
    if (!source_.is(name + 1, ";") && !source_.is(name + 1, "=") && !source_.is(name + 1, "[") &&
        !source_.is(name + 1, "{"))
      return;
    const std::size_t begin = begin_of(name);
    const Token& before = source_[name == 0 ? 0 : name - 1];
    const bool typed = before.kind == Token::Kind::kIdentifier || before.is("*") ||
                       before.is("&") || before.is(">");
    if (!typed || !is_of_host(begin, name)) return;
    // A constant number may be read anywhere.
    const bool array = source_.is(name + 1, "[");
    for (std::size_t i = begin; i < name && !array; ++i)
      if (source_.is(i, "const") && (!before.is("*") || source_.is(name - 1, "const"))) return;
    if (!array && source_.is(name - 1, "const")) return;
    variables_.emplace(source_[name].text);
  }

  const Source& source_;
  const MacroTable& macros_;
  HostVariables& variables_;
};

}  // namespace

void collect_host_variables(const Source& source, const MacroTable& macros,
                            HostVariables& variables) {
  HostVariableFinder(source, macros, variables).run();
}

}  // namespace convlab::rewrite
