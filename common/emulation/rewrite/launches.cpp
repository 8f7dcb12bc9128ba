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

class LaunchRewriter {
 public:
  explicit LaunchRewriter(const File& file)
      : source_(file.source), names_(file.names), editor_(file.editor) {}

  void launch(std::size_t open) {
    const std::size_t close = find_launch_end(open);
    const bool has_kernel = source_[open].directive == 0 || !begins_replacement(open);
    if (close < source_.size() && has_kernel)
      launch(open, triple_at(open), triple_at(close), close + 3);
    else if (source_[open].directive == 0)
      editor_.complain(open, "the launch has no >>> followed by its arguments in parentheses");
    else if (!blank_configuration(open))
      editor_.complain(
          open, "a macro cannot hold a part of a launch: only all of kernel<<<…>>>(…), or <<<…>>>");
  }

  void launch_by_macro(std::size_t name) {
    const auto macro = names_.macros.find(source_[name].text);
    if (macro == names_.macros.end() || !macro->second.is_configuration) return;
    std::size_t last = name;
    if (macro->second.takes_arguments) {
      if (!source_.is(name + 1, "(") || !source_.opens(name + 1)) return;
      last = source_.partner(name + 1);
    }
    if (source_.is(last + 1, "("))
      launch(name, {name, source_[name].offset, 0}, {last, source_[last].end(), 0}, last + 1);
  }

  void untyped_kernel(std::size_t keyword) {
    std::size_t open = keyword - 1;
    if (keyword > 1 && source_.is(open, "const")) --open;
    std::size_t star = keyword + 1;
    if (source_.is(star, "const")) ++star;
    if (keyword < 1 || !source_.is(star, "*")) return;
    const bool c_style = source_.is(open, "(") && source_.is(star + 1, ")");
    const bool named = open > 0 && source_.is(open, "<") &&
                       source_.is(open - 1, "reinterpret_cast") && source_.is(star + 1, ">") &&
                       source_.is(star + 2, "(");
    if (!c_style && !named) return;
    const std::size_t begin = star + (c_style ? 2 : 3);
    const std::size_t end = end_of_kernel_name(begin);
    if (end == begin || source_.is(end, "(") || (named && !source_.is(end, ")"))) return;
    const std::size_t first = c_style ? open : open - 1;
    editor_.replace_range(
        source_[first].offset, source_[begin].offset - source_[first].offset,
        std::string(kRuntime) + "untyped_kernel(" + std::string(lines_in(first, begin), '\n'));
    editor_.insert(source_[end - 1].end(),
                   ", " + string_literal(source_.text(begin, end)) + (c_style ? ")" : ""));
  }

 private:
  [[nodiscard]] Callee find_callee(std::size_t launch) const {
    Callee callee;
    callee.end = callee.begin = callee.template_begin = launch;
    bool last_part = true;
    std::size_t i = launch;  // the first token taken so far
    while (i > 0) {
      const std::size_t previous = i - 1;
      std::size_t part = source_.size();
      if (source_.is(previous, ">")) {
        const std::size_t open = source_.opening_angle(previous);
        if (open >= source_.size() || open == 0) break;
        if (last_part) callee.template_begin = open;
        part = open - 1;
        if (source_[part].kind != Token::Kind::kIdentifier) break;
        if (last_part) callee.name = part;
      } else if (source_[previous].kind == Token::Kind::kIdentifier) {
        part = previous;
        if (last_part) callee.name = part;
      } else if (source_.is(previous, ")") || source_.is(previous, "]")) {
        part = source_.partner(previous);
        if (part >= source_.size()) break;
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
      while (part > 2 && source_.is(part - 1, "#") && source_.is(part - 2, "#")) {
        callee.is_pasted = true;
        part -= 3;
      }
      i = part;
      last_part = false;
      if (i > 0 && source_.is(i - 1, "template")) --i;
      if (i == 0) break;
      if (source_.is(i - 1, "::")) {
        --i;
        if (i > 0 && (source_.is(i - 1, ">") || (source_[i - 1].kind == Token::Kind::kIdentifier &&
                                                 !is_keyword(source_[i - 1].text))))
          continue;
      } else if (source_.is(i - 1, ".") || source_.is(i - 1, "->")) {
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
    if (source_[i].kind == Token::Kind::kIdentifier) return !is_keyword(source_[i].text);
    if (source_.is(i, "]")) return true;
    if (source_.is(i, ")")) {
      const std::size_t open = source_.partner(i);
      return open < source_.size() && !(open > 0 && is_keyword(source_[open - 1].text));
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
    return {i, source_[i].offset, source_[i + 2].end() - source_[i].offset};
  }

  /// Whether a macro's replacement begins at token i.
  [[nodiscard]] bool begins_replacement(std::size_t i) const {
    std::size_t before = i - 1;
    if (source_.is(before, ")") && source_.partner(before) < before)
      before = source_.partner(before) - 1;
    return before > 1 && source_.is(before - 1, "define");
  }

  /// `#define CONFIGURATION(blocks, threads) <<<blocks, threads>>>` loses its brackets: the launch
  /// is made where the macro is used.
  bool blank_configuration(std::size_t open) {
    std::size_t end = open;
    while (end < source_.size() && source_[end].directive == source_[open].directive) ++end;
    if (end < open + 6 || !source_.is_triple(end - 3, '>')) return false;
    editor_.blank(source_[open].offset, source_[open + 2].end());
    editor_.blank(source_[end - 3].offset, source_[end - 1].end());
    return true;
  }

  /// @param open       what stands behind the kernel's name
  /// @param begin,end  what the configuration's parentheses replace
  /// @param arguments  their (
  void launch(std::size_t open, const Span& begin, const Span& end, std::size_t arguments) {
    if (source_.in_device_code(open)) {
      editor_.complain(open,
                       "a kernel launched from device code (dynamic parallelism) cannot be "
                       "emulated: let the host "
                       "launch it after the kernel");
      return;
    }
    const Callee callee = find_callee(open);
    if (callee.begin == callee.end) {
      editor_.complain(open, "there is no kernel before <<<");
      return;
    }
    const std::string text = source_.text(callee.begin, callee.end);
    const std::string space(kRuntime);
    const std::size_t start = source_[callee.begin].offset;
    // The parenthesis replaces the last < where there is one: it is where compilers point.
    const std::string parenthesis =
        begin.length > 0 ? editor_.anchor(begin.token, begin.offset + begin.length - 1) + "("
                         : joined({"(", editor_.anchor(begin.token, begin.offset)});
    // In a macro only the preprocessor knows the kernel's name.
    const std::string name = source_[callee.begin].directive != 0
                                 ? joined({"CONVLAB_TEXT(", text, ")"})
                                 : string_literal(text);
    const std::string configuration = name + ", " + space + "configuration" + parenthesis;
    switch (kind_of(callee, open)) {
      case CalleeKind::kPointer:
        editor_.insert(start, space + "launch_pointer(" + editor_.anchor(callee.begin, start));
        editor_.replace_range(begin.offset, begin.length, ", " + configuration);
        break;
      case CalleeKind::kFunction:
        editor_.insert(start, space + "launch_function(" + editor_.anchor(callee.begin, start));
        editor_.replace_range(
            begin.offset, begin.length,
            ", [=](auto... convlab_a) { " + text + "(convlab_a...); }, " + configuration);
        break;
      case CalleeKind::kTemplate: {
        // With a Zero among the arguments the launch must find out what it may stand for.
        const bool probes = wrap_arguments(arguments);
        const std::string result = probes ? "-> decltype(void(" + text + "(convlab_a...))) " : "";
        editor_.insert(start, space + "launch([=](auto... convlab_a) " + result + "{ " +
                                  editor_.anchor(callee.begin, start));
        editor_.replace_range(begin.offset, begin.length, "(convlab_a...); }, " + configuration);
        break;
      }
    }
    editor_.replace_range(
        end.offset, end.length,
        end.length > 0 ? ")) " : joined({"))", editor_.anchor(end.token, end.offset)}));
  }

  [[nodiscard]] std::size_t lines_in(std::size_t begin, std::size_t end) const {
    return source_[end].line - source_[begin].line;
  }

  /// One past a kernel's name with its namespaces, template arguments and a & in front, or `begin`.
  [[nodiscard]] std::size_t end_of_kernel_name(std::size_t begin) const {
    std::size_t i = begin;
    if (source_.is(i, "&")) ++i;
    if (source_.is(i, "::")) ++i;
    while (source_.is(i + 1, "::")) i += 2;
    if (i >= source_.size() || names_.kernels.find(source_[i].text) == names_.kernels.end())
      return begin;
    ++i;
    if (!source_.is(i, "<") || source_.is_triple(i, '<')) return i;
    for (std::size_t j = i + 1; j < source_.size() && !source_.is(j, ";"); ++j) {
      if (source_.opens(j)) j = source_.partner(j);
      if (source_.is(j, ">") && source_.opening_angle(j) == i) return j + 1;
    }
    return begin;
  }

  enum class CalleeKind { kPointer, kFunction, kTemplate };

  [[nodiscard]] CalleeKind kind_of(const Callee& callee, std::size_t open) const {
    if (callee.is_pasted) return CalleeKind::kTemplate;
    if (!callee.is_name) return CalleeKind::kPointer;
    const bool explicit_arguments = callee.template_begin < callee.end;
    const auto known = names_.kernels.find(source_[callee.name].text);
    if (known == names_.kernels.end())
      return explicit_arguments || source_[open].directive != 0 ? CalleeKind::kTemplate
                                                                : CalleeKind::kPointer;
    // The lambda of a template finds the right one: by its arguments, or in their namespace.
    const auto function = names_.functions.find(source_[callee.name].text);
    if (function != names_.functions.end()) {
      const bool has_host_twin = function->second.has_host_twin;
      const bool is_elsewhere =
          callee.name == callee.begin && !space_of(open).starts_with(function->second.space);
      if (has_host_twin || is_elsewhere) return CalleeKind::kTemplate;
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

  /// The named namespaces around token i, as NamedFunction::space has them.
  [[nodiscard]] std::string space_of(std::size_t i) const {
    std::string space;
    while (i-- > 0)
      if (source_.is(i, "}") && source_.partner(i) < i)
        i = source_.partner(i);
      else if (source_.is(i, "{"))
        space.insert(0, source_.name_of_namespace(i));
    return space;
  }

  /// Template arguments between the < at `begin` and the > before `end`.
  [[nodiscard]] int count_arguments(std::size_t begin, std::size_t end) const {
    if (begin + 2 == end) return 0;
    int count = 1;
    int depth = 0;
    for (std::size_t i = begin + 1; i + 1 < end; ++i) {
      if (source_.opens(i)) i = source_.partner(i);
      if (source_.is(i, "<")) ++depth;
      if (source_.is(i, ">")) --depth;
      if (source_.is(i, ",") && depth == 0) ++count;
    }
    return count;
  }

  [[nodiscard]] int directive_of(std::size_t i) const {
    return i < source_.size() ? source_[i].directive : 0;
  }

  /// The first > of the >>> that is followed by a parenthesis, outside of all brackets. Where a
  /// macro ends with it, the parenthesis follows where the macro is used.
  [[nodiscard]] std::size_t find_launch_end(std::size_t open) const {
    const int directive = source_[open].directive;
    for (std::size_t i = open + 3; i < source_.size() && source_[i].directive == directive; ++i) {
      if (source_.is(i, ";")) break;
      if (source_.opens(i))
        i = source_.partner(i);
      else if (source_.is_triple(i, '>') &&
               (source_.is(i + 3, "(") || (directive != 0 && directive_of(i + 3) != directive)))
        return i;
    }
    return source_.size();
  }

  /// Literal 0, NULL and {…} have no type that a template could deduce: they become objects that
  /// convert to the parameter's. Returns whether there is a Zero.
  bool wrap_arguments(std::size_t open) {
    bool found = false;
    const std::size_t close = source_.partner(open);
    if (close >= source_.size()) return false;
    for (std::size_t i = open + 1; i < close; ++i) {
      const bool first = source_.is(i - 1, ",") || i == open + 1;
      if (source_.opens(i)) {
        const std::size_t end = source_.partner(i);
        if (first && source_.is(i, "{") && (end + 1 == close || source_.is(end + 1, ","))) {
          editor_.replace(i, std::string(kRuntime) + "braces(");
          editor_.replace(end, ")");
        }
        i = end;
      } else if (first && (source_.is(i, "0") || source_.is(i, "NULL")) &&
                 (i + 1 == close || source_.is(i + 1, ","))) {
        editor_.replace(i, std::string(kRuntime) + "Zero{}");
        found = true;
      }
    }
    return found;
  }

  const Source& source_;
  const Names& names_;
  Editor& editor_;
};

}  // namespace

void rewrite_launch(const File& file, std::size_t open) {
  LaunchRewriter(file).launch(open);
}

void rewrite_launch_by_macro(const File& file, std::size_t name) {
  LaunchRewriter(file).launch_by_macro(name);
}

void rewrite_untyped_kernel(const File& file, std::size_t keyword) {
  LaunchRewriter(file).untyped_kernel(keyword);
}

}  // namespace convlab::rewrite
