#include <string>

#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

/// The kernel's expression before <<<.
struct Callee {
  std::size_t begin = 0;
  std::size_t end = 0;             ///< one past its last token
  std::size_t name = 0;            ///< its last identifier, where it is a name
  std::size_t template_begin = 0;  ///< the < of explicit template arguments, or end
  bool is_name = true;             ///< neither call, subscript, member access nor parentheses
  bool is_pasted = false;          ///< name##_kernel in a macro
};

struct LaunchRewriter : File {
  void launch(std::size_t open) {
    const std::size_t close = find_launch_end(open);
    const bool has_kernel = source[open].directive == 0 || !source.begins_replacement(open);
    if (close < source.size() && has_kernel)
      launch(open, triple_at(open), triple_at(close), close + 3);
    else if (source[open].directive == 0)
      editor.complain(open, "the launch has no >>> followed by its arguments in parentheses");
    else if (!blank_configuration(open))
      editor.complain(
          open, "a macro cannot hold a part of a launch: only all of kernel<<<…>>>(…), or <<<…>>>");
  }

  void launch_by_macro(std::size_t name) {
    const auto macro = names.macros.find(source[name].text);
    if (macro == names.macros.end() || !macro->second.is_configuration) return;
    std::size_t last = name;
    if (macro->second.takes_arguments) {
      if (!source.is(name + 1, "(") || !source.opens(name + 1)) return;
      last = source.partner(name + 1);
    }
    if (source.is(last + 1, "("))
      launch(name, {name, source[name].offset, 0}, {last, source[last].end(), 0}, last + 1);
  }

  void untyped_kernel(std::size_t keyword) {
    std::size_t open = keyword - 1;
    if (keyword > 1 && source.is(open, "const")) --open;
    std::size_t star = keyword + 1;
    if (source.is(star, "const")) ++star;
    if (keyword < 1 || !source.is(star, "*")) return;
    const bool c_style = source.is(open, "(") && source.is(star + 1, ")");
    const bool named = open > 0 && source.is(open, "<") &&
                       source.is(open - 1, "reinterpret_cast") && source.is(star + 1, ">") &&
                       source.is(star + 2, "(");
    if (!c_style && !named) return;
    const std::size_t begin = star + (c_style ? 2 : 3);
    const std::size_t end = end_of_kernel_name(begin);
    if (end == begin || source.is(end, "(") || (named && !source.is(end, ")"))) return;
    const std::size_t first = c_style ? open : open - 1;
    editor.replace_range(source[first].offset, source[begin].offset - source[first].offset,
                         std::string(kRuntime) + "untyped_kernel(" +
                             std::string(source[begin].line - source[first].line, '\n'));
    editor.insert(source[end - 1].end(),
                  ", " + string_literal(source.text(begin, end)) + (c_style ? ")" : ""));
  }

 private:
  [[nodiscard]] Callee find_callee(std::size_t launch) const {
    Callee callee;
    callee.end = callee.begin = callee.template_begin = launch;
    bool last_part = true;
    std::size_t i = launch;  // the first token taken so far
    while (i > 0) {
      const std::size_t previous = i - 1;
      std::size_t part = source.size();
      if (source.is(previous, ">")) {
        const std::size_t open = source.opening_angle(previous);
        if (open >= source.size() || open == 0) break;
        if (last_part) callee.template_begin = open;
        part = open - 1;
        if (source[part].kind != Token::Kind::kIdentifier) break;
        if (last_part) callee.name = part;
      } else if (source[previous].kind == Token::Kind::kIdentifier) {
        part = previous;
        if (last_part) callee.name = part;
      } else if (source.is(previous, ")") || source.is(previous, "]")) {
        part = source.partner(previous);
        if (part >= source.size()) break;
        callee.is_name = false;
        i = part;
        // A call or a subscript has something before it; `if (x) (f)<<<…>>>` has not.
        if (part > 0 && is_postfix_base(part - 1)) {
          last_part = false;
          continue;
        }
      } else {
        break;
      }
      while (part > 2 && source.is(part - 1, "#") && source.is(part - 2, "#")) {
        callee.is_pasted = true;
        part -= 3;
      }
      i = part;
      last_part = false;
      if (i > 0 && source.is(i - 1, "template")) --i;
      if (i == 0) break;
      if (source.is(i - 1, "::")) {
        --i;
        if (i > 0 && (source.is(i - 1, ">") || (source[i - 1].kind == Token::Kind::kIdentifier &&
                                                !is_keyword(source[i - 1].text))))
          continue;
      } else if (source.is(i - 1, ".") || source.is(i - 1, "->")) {
        callee.is_name = false;
        --i;
        continue;
      }
      break;
    }
    callee.begin = i;
    return callee;
  }

  /// Whether an expression may end at token i, so that a following ( or [ belongs to it.
  [[nodiscard]] bool is_postfix_base(std::size_t i) const {
    if (source[i].kind == Token::Kind::kIdentifier) return !is_keyword(source[i].text);
    if (source.is(i, "]")) return true;
    if (source.is(i, ")")) {
      const std::size_t open = source.partner(i);
      return open < source.size() && !(open > 0 && is_keyword(source[open - 1].text));
    }
    return false;
  }

  /// A part of the file to replace. @param token  on the same line
  struct Span {
    std::size_t token;
    std::size_t offset;
    std::size_t length;
  };

  [[nodiscard]] Span triple_at(std::size_t i) const {
    return {i, source[i].offset, source[i + 2].end() - source[i].offset};
  }

  /// `#define CONFIGURATION(blocks, threads) <<<blocks, threads>>>` loses its brackets: the launch
  /// is made where the macro is used.
  bool blank_configuration(std::size_t open) {
    std::size_t end = open;
    while (end < source.size() && source[end].directive == source[open].directive) ++end;
    if (end < open + 6 || !source.is_triple(end - 3, '>')) return false;
    editor.blank(source[open].offset, source[open + 2].end());
    editor.blank(source[end - 3].offset, source[end - 1].end());
    return true;
  }

  /// @param open       what stands behind the kernel's name
  /// @param begin,end  what the configuration's parentheses replace
  /// @param arguments  their (
  void launch(std::size_t open, const Span& begin, const Span& end, std::size_t arguments) {
    if (source.in_device_code(open))
      return editor.complain(open,
                             "a kernel launched from device code (dynamic parallelism) cannot be "
                             "emulated: let the host launch it after the kernel");
    const Callee callee = find_callee(open);
    if (callee.begin == callee.end) return editor.complain(open, "there is no kernel before <<<");
    const std::string text = source.text(callee.begin, callee.end);
    const std::string space(kRuntime);
    const std::size_t start = source[callee.begin].offset;
    // The parenthesis replaces the last < where there is one: it is where compilers point.
    const std::string parenthesis =
        begin.length > 0 ? editor.anchor(begin.token, begin.offset + begin.length - 1) + "("
                         : joined({"(", editor.anchor(begin.token, begin.offset)});
    // In a macro only the preprocessor knows the kernel's name.
    const std::string name = source[callee.begin].directive != 0
                                 ? joined({"CONVLAB_TEXT(", text, ")"})
                                 : string_literal(text);
    const std::string configuration = name + ", " + space + "configuration" + parenthesis;
    switch (kind_of(callee, open)) {
      case CalleeKind::kPointer:
        editor.insert(start, space + "launch_pointer(" + editor.anchor(callee.begin, start));
        editor.replace_range(begin.offset, begin.length, ", " + configuration);
        break;
      case CalleeKind::kFunction: {
        const std::string type = type_of(callee);
        editor.insert(start, joined({space, "launch_function(", type, type.empty() ? "" : "(",
                                     editor.anchor(callee.begin, start)}));
        editor.replace_range(begin.offset, begin.length,
                             joined({type.empty() ? "" : ")", ", [=](auto... convlab_a) { ", text,
                                     "(convlab_a...); }, ", configuration}));
        break;
      }
      case CalleeKind::kTemplate: {
        // With a Zero among the arguments the launch must find out what it may stand for.
        const bool probes = wrap_arguments(arguments);
        const std::string result = probes ? "-> decltype(void(" + text + "(convlab_a...))) " : "";
        editor.insert(start, space + "launch([=](auto... convlab_a) " + result + "{ " +
                                 editor.anchor(callee.begin, start));
        editor.replace_range(begin.offset, begin.length, "(convlab_a...); }, " + configuration);
        break;
      }
    }
    editor.replace_range(
        end.offset, end.length,
        end.length > 0 ? ")) " : joined({"))", editor.anchor(end.token, end.offset)}));
  }

  /// One past a kernel's name with its namespaces, template arguments and a & in front, or `begin`.
  [[nodiscard]] std::size_t end_of_kernel_name(std::size_t begin) const {
    std::size_t i = begin;
    if (source.is(i, "&")) ++i;
    if (source.is(i, "::")) ++i;
    while (source.is(i + 1, "::")) i += 2;
    if (i >= source.size() || names.kernels.find(source[i].text) == names.kernels.end())
      return begin;
    ++i;
    if (!source.is(i, "<") || source.is_triple(i, '<')) return i;
    for (std::size_t j = i + 1; j < source.size() && !source.is(j, ";"); ++j) {
      if (source.opens(j)) j = source.partner(j);
      if (source.is(j, ">") && source.opening_angle(j) == i) return j + 1;
    }
    return begin;
  }

  enum class CalleeKind { kPointer, kFunction, kTemplate };

  [[nodiscard]] CalleeKind kind_of(const Callee& callee, std::size_t open) const {
    if (callee.is_pasted) return CalleeKind::kTemplate;
    if (!callee.is_name) return CalleeKind::kPointer;
    const bool explicit_arguments = callee.template_begin < callee.end;
    const auto known = names.kernels.find(source[callee.name].text);
    if (known == names.kernels.end())
      return explicit_arguments || source[open].directive != 0 ? CalleeKind::kTemplate
                                                               : CalleeKind::kPointer;
    // The lambda of a template finds the right one: by its arguments, or in their namespace.
    const auto function = names.functions.find(source[callee.name].text);
    if (function != names.functions.end()) {
      const bool is_elsewhere =
          callee.name == callee.begin && !source.space_of(open).starts_with(function->second.space);
      if (is_elsewhere) return CalleeKind::kTemplate;
    }
    const Kernel& kernel = known->second;
    if (kernel.bodies > 1 || !kernel.consistent || kernel.parameter_pack ||
        kernel.default_arguments)
      return CalleeKind::kTemplate;
    if (!explicit_arguments)
      return kernel.template_parameters == 0 ? CalleeKind::kFunction : CalleeKind::kTemplate;
    const int given = count_arguments(callee.template_begin, callee.end);
    return given >= kernel.least_template_arguments && given <= kernel.template_parameters
               ? CalleeKind::kFunction
               : CalleeKind::kTemplate;
  }

  /// A cast that picks the kernel among functions of its name: of the library (`index`, `time`) or
  /// of std. Nothing where its parameters may be words of another place, or hold directives, and
  /// where the name may be that of a parameter or a local variable.
  [[nodiscard]] std::string type_of(const Callee& callee) const {
    const Kernel& kernel = names.kernels.find(source[callee.name].text)->second;
    if (callee.begin + 1 != callee.end || kernel.template_parameters > 0 ||
        kernel.parameters.find('#') != std::string::npos)
      return {};
    for (std::size_t i = callee.begin; i-- > 0;) {
      if (source.is(i, source[callee.name].text) && !source.is(i + 1, "<")) return {};
      if (source.scope(i) == Scope::kFile && (source.is(i, ";") || source.is(i, "}"))) break;
    }
    return joined({"static_cast<void (*)(", kernel.parameters, ")>"});
  }

  /// Template arguments between the < at `begin` and the > before `end`.
  [[nodiscard]] int count_arguments(std::size_t begin, std::size_t end) const {
    if (begin + 2 == end) return 0;
    int count = 1;
    int depth = 0;
    for (std::size_t i = begin + 1; i + 1 < end; ++i) {
      if (source.opens(i)) i = source.partner(i);
      if (source.is(i, "<")) ++depth;
      if (source.is(i, ">")) --depth;
      if (source.is(i, ",") && depth == 0) ++count;
    }
    return count;
  }

  /// The first > of the >>> that is followed by a parenthesis, outside of all brackets. Where a
  /// macro ends with it, the parenthesis follows where the macro is used.
  [[nodiscard]] std::size_t find_launch_end(std::size_t open) const {
    const int directive = source[open].directive;
    for (std::size_t i = open + 3; i < source.size(); ++i) {
      if (directive == 0 && source[i].directive != 0) continue;  // #ifdef around an argument
      if (source[i].directive != directive || source.is(i, ";")) break;
      if (source.opens(i))
        i = source.partner(i);
      else if (source.is_triple(i, '>') &&
               (source.is(i + 3, "(") ||
                (directive != 0 &&
                 (i + 3 == source.size() || source[i + 3].directive != directive))))
        return i;
    }
    return source.size();
  }

  /// Literal 0, NULL and {…} have no type that a template could deduce: they become objects that
  /// convert to the parameter's. Returns whether there is a Zero.
  bool wrap_arguments(std::size_t open) {
    bool found = false;
    const std::size_t close = source.partner(open);
    if (close >= source.size()) return false;
    for (std::size_t i = open + 1; i < close; ++i) {
      const bool first = source.is(i - 1, ",") || i == open + 1;
      if (source.opens(i)) {
        const std::size_t end = source.partner(i);
        if (first && source.is(i, "{") && (end + 1 == close || source.is(end + 1, ","))) {
          editor.replace(i, std::string(kRuntime) + "braces(");
          editor.replace(end, ")");
        }
        i = end;
      } else if (first && (source.is(i, "0") || source.is(i, "NULL")) &&
                 (i + 1 == close || source.is(i + 1, ","))) {
        editor.replace(i, std::string(kRuntime) + "Zero{}");
        found = true;
      }
    }
    return found;
  }
};

}  // namespace

void rewrite_launches(const File& file) {
  LaunchRewriter rewriter{file};
  const Source& source = file.source;
  for (std::size_t i = 0; i < source.size(); ++i) {
    // Of more than three the last three are the launch, and operator<< <T> is none.
    if (source.is_triple(i, '<') && !source.is_triple(i + 1, '<') &&
        !(i > 0 && source.is(i - 1, "operator")))
      rewriter.launch(i);
    else if (source.is(i, "void"))
      rewriter.untyped_kernel(i);
    else if (source[i].kind == Token::Kind::kIdentifier)
      rewriter.launch_by_macro(i);
  }
}

}  // namespace convlab::rewrite
