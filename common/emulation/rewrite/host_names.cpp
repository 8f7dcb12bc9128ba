#include "common/emulation/rewrite/host_names.hpp"

#include "common/emulation/rewrite/functions.hpp"

namespace convlab::rewrite {
namespace {

/// Finds what HostNames holds.
class HostNameFinder {
 public:
  HostNameFinder(const Source& source, const MacroTable& macros, HostNames& names)
      : source_(source), macros_(macros), names_(names) {}

  void run() {
    std::vector<std::string> classes;  // around the token; "" for another brace
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (source_[i].directive != 0) continue;
      if (source_.is(i, "{") && source_.partner(i) < source_.size()) {
        if (source_.scope(i + 1) == Scope::kFunction || belongs_to(i, "enum"))
          i = source_.partner(i);
        else
          classes.push_back(source_.scope(i + 1) == Scope::kClass ? name_of_class(i) : "");
      } else if (source_.is(i, "}")) {
        if (!classes.empty()) classes.pop_back();
      } else if (source_[i].kind == Token::Kind::kIdentifier) {
        const bool in_class = source_.scope(i) == Scope::kClass;
        if (in_class && !classes.empty() && !classes.back().empty())
          add_member(i, classes.back());
        else if (!in_class && source_.scope(i) == Scope::kFile)
          add_variable(i);
      }
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

  [[nodiscard]] bool belongs_to(std::size_t brace, std::string_view word) const {
    for (std::size_t i = begin_of(brace); i < brace; ++i)
      if (source_.is(i, word)) return true;
    return false;
  }

  /// Nothing for a template, whose objects are hard to recognise.
  [[nodiscard]] std::string name_of_class(std::size_t brace) const {
    const std::size_t begin = begin_of(brace);
    const bool plain = source_.is(begin, "struct") || source_.is(begin, "class");
    return plain && source_[begin + 1].kind == Token::Kind::kIdentifier
               ? std::string(source_[begin + 1].text)
               : "";
  }

  /// Whether none of the words before the name may be, or hide, a qualifier of the device.
  [[nodiscard]] bool is_of_host(std::size_t begin, std::size_t name) const {
    static const Words others = {
        "__device__", "__constant__", "__shared__", "__managed__", "__global__",   "constexpr",
        "consteval",  "typedef",      "using",      "template",    "operator",     "friend",
        "struct",     "class",        "enum",       "union",       "namespace",    "=",
        "(",          "extern",       "concept",    "auto",        "thread_local", "return"};
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
    names_.variables.emplace(source_[name].text);
  }

  void add_member(std::size_t name, const std::string& type) {
    if (!source_.is(name + 1, "(") || source_.partner(name + 1) >= source_.size()) return;
    const std::size_t begin = begin_of(name);
    auto& members = names_.members[type];
    if (source_[name].text != type && begin < name && is_of_host(begin, name))
      members.emplace(source_[name].text);
    else
      names_.aliases.emplace(type + "::" + std::string(source_[name].text));  // one of the device
  }

  const Source& source_;
  const MacroTable& macros_;
  HostNames& names_;
};

}  // namespace

void collect_host_names(const Source& source, const MacroTable& macros, HostNames& names) {
  HostNameFinder(source, macros, names).run();
  // An alias of the same name makes its objects something else.
  for (std::size_t i = 1; i < source.size(); ++i)
    if (source.is(i - 1, "using") && source.is(i + 1, "=")) names.aliases.emplace(source[i].text);
}

}  // namespace convlab::rewrite
