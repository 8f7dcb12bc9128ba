#include "common/emulation/rewrite/source.hpp"

#include <algorithm>

namespace convlab::rewrite {
namespace {

bool is_opening(std::string_view text) {
  return text == "(" || text == "[" || text == "{";
}
bool is_closing(std::string_view text) {
  return text == ")" || text == "]" || text == "}";
}
std::string_view closing(std::string_view open) {
  return open == "(" ? ")" : open == "[" ? "]" : "}";
}

}  // namespace

Source::Source(std::string_view text) : tokens_(tokenize(text)) {
  match_brackets();
  find_scopes();
  find_device_code();
  find_parentheses();
}

void Source::match_brackets() {
  partners_.assign(size(), size());
  // A directive's brackets pair among themselves: #if branches need not be balanced with the rest.
  std::vector<std::size_t> open;
  std::vector<std::size_t> open_in_directive;
  for (std::size_t i = 0; i < size(); ++i) {
    auto& stack = tokens_[i].directive != 0 ? open_in_directive : open;
    if (i > 0 && tokens_[i].directive != tokens_[i - 1].directive) open_in_directive.clear();
    if (tokens_[i].kind != Token::Kind::kPunctuation) continue;
    if (is_opening(tokens_[i].text)) {
      stack.push_back(i);
    } else if (is_closing(tokens_[i].text)) {
      while (!stack.empty() && closing(tokens_[stack.back()].text) != tokens_[i].text)
        stack.pop_back();
      if (stack.empty()) continue;
      partners_[i] = stack.back();
      partners_[stack.back()] = i;
      stack.pop_back();
    }
  }
}

/// Namespaces and extern "C" keep file scope, classes open class scope, other braces functions.
Scope Source::scope_of_brace(std::size_t brace) const {
  for (std::size_t i = brace; i-- > 0;) {
    const Token& token = tokens_[i];
    if (token.directive != 0) continue;
    if (token.is(";") || token.is("}") || token.is("{")) return Scope::kFunction;
    if (token.is(")")) {
      // struct alignas(16) Name {
      const std::size_t open = partners_[i];
      const bool alignment = open < size() && open > 0 &&
                             (tokens_[open - 1].is("alignas") || tokens_[open - 1].is("__align__"));
      if (!alignment) return Scope::kFunction;
      i = open;
      continue;
    }
    if (token.is("namespace")) return Scope::kFile;
    if (token.kind == Token::Kind::kString && i > 0 && tokens_[i - 1].is("extern"))
      return Scope::kFile;
    if (token.is("class") || token.is("struct") || token.is("union") || token.is("enum"))
      return Scope::kClass;
  }
  return Scope::kFunction;
}

void Source::find_scopes() {
  scopes_.assign(size(), Scope::kFile);
  std::vector<Scope> stack{Scope::kFile};
  for (std::size_t i = 0; i < size(); ++i) {
    if (tokens_[i].directive == 0) {
      if (tokens_[i].is("}") && stack.size() > 1) stack.pop_back();
      scopes_[i] = stack.back();
      if (tokens_[i].is("{")) {
        const Scope inner = scope_of_brace(i);
        // Everything inside a function is function scope.
        stack.push_back(stack.back() == Scope::kFunction && inner == Scope::kFile ? Scope::kFunction
                                                                                  : inner);
      }
    } else {
      scopes_[i] = stack.back();
    }
  }
}

void Source::find_device_code() {
  device_code_.assign(size(), false);
  for (std::size_t i = 0; i < size(); ++i) {
    if (!tokens_[i].is("__global__") && !tokens_[i].is("__device__")) continue;
    // The parameter list, then the body, unless a declaration or a variable ends before.
    for (std::size_t j = i + 1; j < size(); ++j) {
      if (is(j, ";") || is(j, "=")) break;
      if (tokens_[j].is("(") && partners_[j] < size()) {
        j = partners_[j];
      } else if (tokens_[j].is("{")) {
        const std::size_t end = partners_[j];
        if (end < size()) take_steps(end - j);
        for (std::size_t k = j; k < end && end < size(); ++k) device_code_[k] = true;
        break;
      }
    }
  }
}

void Source::find_parentheses() {
  in_parentheses_.assign(size(), false);
  std::size_t end = 0;  // of the outermost parentheses so far
  for (std::size_t i = 0; i < size(); ++i) {
    in_parentheses_[i] = i < end;
    const bool opens = tokens_[i].is("(") || tokens_[i].is("[");
    if (opens && tokens_[i].directive == 0 && partners_[i] < size())
      end = std::max(end, partners_[i]);
  }
}

bool Source::is_triple(std::size_t i, char c) const {
  if (i + 2 >= size()) return false;
  const std::string_view one(&c, 1);
  return tokens_[i].text == one && tokens_[i + 1].text == one && tokens_[i + 2].text == one &&
         tokens_[i].end() == tokens_[i + 1].offset && tokens_[i + 1].line == tokens_[i + 2].line;
}

std::string Source::name_of_namespace(std::size_t brace) const {
  std::string name;
  for (std::size_t i = brace;
       i-- > 0 && !is(i, ";") && !is(i, "{") && !is(i, "}") && tokens_[i].directive == 0;) {
    if (is(i, "namespace")) return name.empty() ? name : name + "::";
    name.insert(0, tokens_[i].text);
  }
  return {};
}

std::size_t Source::opening_angle(std::size_t i) const {
  int depth = 0;
  for (std::size_t j = i;; --j) {
    const Token& token = (*this)[j];
    if (is_closing(token.text)) {
      j = partners_[j];
      if (j >= size()) return size();
    } else if (token.is(">")) {
      ++depth;
    } else if (token.is("<") && --depth == 0) {
      return j;
    } else if (token.is(";") || is_opening(token.text)) {
      return size();
    }
    if (j == 0) return size();
  }
}

std::string Source::text(std::size_t begin, std::size_t end) const {
  std::string line;
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin && tokens_[i - 1].end() != tokens_[i].offset) line += ' ';
    line += tokens_[i].text;
  }
  return line;
}

namespace {

/// Counts the parameters of the `template <…>` whose > stands at `close`. A type may be deduced in
/// spite of its default, a value hardly ever.
void count_template_parameters(const Source& source, std::size_t open, std::size_t close,
                               Kernel& kernel) {
  int depth = 0;
  bool is_type = false;
  bool has_default = false;
  const auto end_parameter = [&] {
    ++kernel.template_parameters;
    if (is_type || !has_default) kernel.least_template_arguments = kernel.template_parameters;
    is_type = has_default = false;
  };
  for (std::size_t i = open + 1; i < close; ++i) {
    if (source.opens(i)) i = source.partner(i);
    if (source.is(i, "<")) ++depth;
    if (source.is(i, ">")) --depth;
    if (source.is(i, ".")) kernel.parameter_pack = true;
    if (depth == 0 && !has_default && (source.is(i, "typename") || source.is(i, "class")))
      is_type = true;
    if (depth == 0 && source.is(i, "=")) has_default = true;
    if (depth == 0 && source.is(i, ",")) end_parameter();
  }
  end_parameter();
}

/// Whether a parameter between the parentheses has a default.
bool has_default_argument(const Source& source, std::size_t open) {
  for (std::size_t i = open + 1; i < source.partner(open); ++i) {
    if (source.is(i, "=")) return true;
    if (source.opens(i)) i = source.partner(i);
  }
  return false;
}

/// Words that may stand around __global__.
const Words kSpecifiers = {"static",
                           "inline",
                           "extern",
                           "void",
                           "__launch_bounds__",
                           "__forceinline__",
                           "__inline__",
                           "const",
                           "__host__",
                           "__device__",
                           "__noinline__",
                           "__attribute__",
                           "__cluster_dims__",
                           "__maxnreg__"};

}  // namespace

bool is_keyword(std::string_view text) {
  static const Words keywords = {"return", "else",   "do",    "case", "if",     "while",
                                 "for",    "switch", "throw", "new",  "delete", "co_return"};
  return keywords.contains(text);
}

void collect_kernels(const Source& source, KernelTable& kernels) {
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (!source.is(i, "__global__") || source[i].directive != 0) continue;
    Kernel kernel;
    std::size_t before = i;
    while (before > 0 && (kSpecifiers.contains(source[before - 1].text) ||
                          source[before - 1].kind == Token::Kind::kString))
      --before;
    if (before > 0 && source.is(before - 1, ">")) {
      const std::size_t open = source.opening_angle(before - 1);
      if (open < source.size()) count_template_parameters(source, open, before - 1, kernel);
    }
    // The name is the identifier before the first parenthesis that belongs to no specifier.
    std::size_t name = i + 1;
    while (name + 1 < source.size() &&
           !(source[name].kind == Token::Kind::kIdentifier && source.is(name + 1, "(") &&
             !kSpecifiers.contains(source[name].text))) {
      if (source.is(name, ";") || source.is(name, "{")) break;
      if (source.is(name, "(") && source.partner(name) < source.size()) name = source.partner(name);
      ++name;
    }
    if (name + 1 >= source.size() || !source.is(name + 1, "(")) continue;
    const std::size_t close = source.partner(name + 1);
    kernel.bodies = close < source.size() && source.is(close + 1, "{") ? 1 : 0;
    kernel.default_arguments = close < source.size() && has_default_argument(source, name + 1);
    const auto [entry, added] = kernels.emplace(source[name].text, kernel);
    if (added) continue;
    Kernel& known = entry->second;
    known.bodies += kernel.bodies;
    known.default_arguments = known.default_arguments || kernel.default_arguments;
    known.consistent = known.consistent && known.template_parameters == kernel.template_parameters;
    // Defaults stand in one declaration only.
    known.least_template_arguments =
        std::min(known.least_template_arguments, kernel.least_template_arguments);
  }
}

}  // namespace convlab::rewrite
