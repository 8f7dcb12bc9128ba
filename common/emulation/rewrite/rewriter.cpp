// The rewrite of one file.
//
// Idea     CUDA adds little to C++'s grammar: f<<<…>>>(…) and __shared__. Both can be found among
//          the tokens without understanding the rest; everything else stays as it is, in its line
//          and, by #line and white space, in its column, so that compilers and debuggers name the
//          student's own.
// Picture  scale<<<blocks, 256>>>(data, n);
//          launch_function(scale, [=](auto... a) { scale(a...); }, "scale",
//                          configuration(blocks, 256))(data, n);
// Cost     about 1 ms for a thousand lines.

#include "common/emulation/rewrite/rewriter.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

namespace convlab::rewrite {
namespace {

constexpr std::string_view kNamespace = "::convlab::emulation::";
constexpr std::string_view kSharedLimit =
    "<= 49152, \"a block has 48 KiB of static shared memory\"); static thread_local ";

struct Edit {
  std::size_t offset;
  std::size_t removed;
  std::string inserted;
};

/// What stands before <<<.
struct Callee {
  std::size_t begin = 0;
  std::size_t end = 0;             ///< one past its last token
  std::size_t name = 0;            ///< its last identifier, where it is a name
  std::size_t template_begin = 0;  ///< the < of explicit template arguments, or end
  bool is_name = true;             ///< neither call, subscript, member access nor parentheses
  bool is_pasted = false;          ///< name##_kernel in a macro
};

class FileRewriter {
 public:
  FileRewriter(std::string_view text, const Source& source, const Names& names)
      : text_(text), source_(source), names_(names) {}

  Rewritten run(const std::vector<Include>& includes) {
    replace_includes(includes);
    refuse_libraries();
    for (std::size_t i = 0; i < source_.size(); ++i) visit(i);
    for (Diagnostic& diagnostic : find_wrong_calls(source_, names_.macros, names_.functions))
      diagnostics_.push_back(std::move(diagnostic));
    return finish();
  }

  /// Adds the __shared__ variables that stand outside of functions.
  void collect_shared_variables(std::map<std::string, std::string, std::less<>>& variables) const {
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (!source_.is(i, "__shared__") || source_[i].directive != 0 ||
          source_.scope(i) != Scope::kFile)
        continue;
      const std::size_t begin = declaration_begin(i);
      const std::size_t end = statement_end(i);
      if (end >= source_.size()) continue;
      for (const std::size_t index : declared_names(begin, end)) {
        const std::string name(source_[index].text);
        variables.emplace(name, shared_value(name, begin, end));
      }
    }
  }

 private:
  void visit(std::size_t i) {
    const Token& token = source_[i];
    if (token.is("<") && source_.is_triple(i, '<')) {
      // Of more than three the last three are the launch, and operator<< <T> is none.
      if (!source_.is_triple(i + 1, '<') && !(i > 0 && source_.is(i - 1, "operator"))) launch(i);
    } else if (token.is("__shared__")) {
      shared_variable(i);
    } else if (token.is("{") && !names_.shared_variables.empty()) {
      use_shared_variables(i);
    } else if (qualifies_variable(i) && token.directive == 0 && source_.scope(i) == Scope::kFile) {
      symbol(i);
    } else if (token.is("__launch_bounds__")) {
      launch_bounds(i);
    } else if (token.is("void")) {
      untyped_kernel(i);
    } else if (token.is("__noinline__")) {
      replace(i, "__attribute__((noinline))");
    } else if (token.is("asm") || token.is("__asm__") || token.is("__asm")) {
      if (source_.in_device_code(i) || token.directive != 0)
        insert(token.offset,
               "static_assert(false, \"inline PTX cannot run in device emulation\"); ");
    } else if (token.kind == Token::Kind::kIdentifier) {
      refuse_unsupported(i);
      launch_by_macro(i);
      if (token.directive == 0 && source_.scope(i) != Scope::kFunction)
        if (const auto bounds = launch_bounds_of(source_, i, names_.macros))
          check_at_body(i, "(" + *bounds + ")");
    }
  }

  // ---- launches ---------------------------------------------------------------------------------

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

  static bool is_keyword(std::string_view text) {
    static const std::set<std::string_view> keywords = {"return", "else",  "do",     "case",
                                                        "if",     "while", "for",    "switch",
                                                        "throw",  "new",   "delete", "co_return"};
    return keywords.contains(text);
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

  void launch(std::size_t open) {
    const std::size_t close = find_launch_end(open);
    const bool has_kernel = source_[open].directive == 0 || !begins_replacement(open);
    if (close < source_.size() && has_kernel)
      launch(open, {open, source_[open].offset, 3}, {close, source_[close].offset, 3}, close + 3);
    else if (source_[open].directive == 0)
      complain(open, "the launch has no >>> followed by its arguments in parentheses");
    else if (!blank_configuration(open))
      complain(open,
               "a macro cannot hold a part of a launch: only all of kernel<<<…>>>(…), or <<<…>>>");
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
    replace_range(source_[open].offset, 3, "   ");
    replace_range(source_[end - 3].offset, 3, "   ");
    return true;
  }

  /// kernel CONFIGURATION(blocks, threads)(arguments), where the macro holds <<<…>>>.
  void launch_by_macro(std::size_t name) {
    const auto macro = names_.macros.find(source_[name].text);
    if (macro == names_.macros.end() || !macro->second.is_configuration) return;
    std::size_t last = name;
    if (macro->second.takes_arguments) {
      if (!source_.is(name + 1, "(") || !opens(name + 1)) return;
      last = source_.partner(name + 1);
    }
    if (source_.is(last + 1, "("))
      launch(name, {name, source_[name].offset, 0}, {last, source_[last].end(), 0}, last + 1);
  }

  /// @param open       what stands behind the kernel's name
  /// @param begin,end  what the configuration's parentheses replace
  /// @param arguments  their (
  void launch(std::size_t open, const Span& begin, const Span& end, std::size_t arguments) {
    if (source_.in_device_code(open)) {
      complain(open, "a kernel launched from device code (dynamic parallelism) cannot be emulated");
      return;
    }
    const Callee callee = find_callee(open);
    if (callee.begin == callee.end) {
      complain(open, "there is no kernel before <<<");
      return;
    }
    const std::string text = source_.text(callee.begin, callee.end);
    const std::string space(kNamespace);
    const std::size_t start = source_[callee.begin].offset;
    // The parenthesis replaces the last < where there is one: it is where compilers point.
    const std::string parenthesis = begin.length > 0
                                        ? anchor(begin.token, begin.offset + begin.length - 1) + "("
                                        : joined({"(", anchor(begin.token, begin.offset)});
    // In a macro only the preprocessor knows the kernel's name.
    const std::string name =
        source_[callee.begin].directive != 0 ? joined({"CONVLAB_TEXT(", text, ")"}) : quoted(text);
    const std::string configuration = name + ", " + space + "configuration" + parenthesis;
    switch (kind_of(callee, open)) {
      case CalleeKind::kPointer:
        insert(start, space + "launch_pointer(" + anchor(callee.begin, start));
        replace_range(begin.offset, begin.length, ", " + configuration);
        break;
      case CalleeKind::kFunction:
        insert(start, space + "launch_function(" + anchor(callee.begin, start));
        replace_range(begin.offset, begin.length,
                      ", [=](auto... convlab_a) { " + text + "(convlab_a...); }, " + configuration);
        break;
      case CalleeKind::kTemplate: {
        // With a Zero among the arguments the launch must find out what it may stand for.
        const bool probes = wrap_arguments(arguments);
        const std::string result = probes ? "-> decltype(void(" + text + "(convlab_a...))) " : "";
        insert(start, space + "launch([=](auto... convlab_a) " + result + "{ " +
                          anchor(callee.begin, start));
        replace_range(begin.offset, begin.length, "(convlab_a...); }, " + configuration);
        break;
      }
    }
    replace_range(end.offset, end.length,
                  end.length > 0 ? ")) " : joined({"))", anchor(end.token, end.offset)}));
  }

  /// A line end, #line and white space, so that what stands at `offset` in the file keeps its line
  /// and column for the compiler, whatever was inserted before. Nothing where that may be inside of
  /// a macro or its arguments. @param token  on the same line
  [[nodiscard]] std::string anchor(std::size_t token, std::size_t offset) const {
    if (source_[token].directive != 0 || source_.in_parentheses(token)) return " ";
    const std::size_t line_end =
        offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
    const std::size_t line_begin = line_end == std::string_view::npos ? 0 : line_end + 1;
    std::string result = "\n#line ";
    result += std::to_string(source_[token].line) + "\n";
    for (std::size_t i = line_begin; i < offset; ++i) result += text_[i] == '\t' ? '\t' : ' ';
    return result;
  }

  /// (void*)kernel and reinterpret_cast<void*>(kernel), also with const: what the kernel takes is
  /// noted where its name still stands there.
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
    replace_range(
        source_[first].offset, source_[begin].offset - source_[first].offset,
        std::string(kNamespace) + "untyped_kernel(" + std::string(lines_in(first, begin), '\n'));
    insert(source_[end - 1].end(), ", " + quoted(source_.text(begin, end)) + (c_style ? ")" : ""));
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
      if (opens(j)) j = source_.partner(j);
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

  /// Template arguments between the < at `begin` and the > before `end`.
  [[nodiscard]] int count_arguments(std::size_t begin, std::size_t end) const {
    if (begin + 2 == end) return 0;
    int count = 1;
    int depth = 0;
    for (std::size_t i = begin + 1; i + 1 < end; ++i) {
      if (opens(i)) i = source_.partner(i);
      if (source_.is(i, "<")) ++depth;
      if (source_.is(i, ">")) --depth;
      if (source_.is(i, ",") && depth == 0) ++count;
    }
    return count;
  }

  [[nodiscard]] int directive_of(std::size_t i) const {
    return i < source_.size() ? source_[i].directive : 0;
  }

  [[nodiscard]] bool opens(std::size_t i) const {
    return (source_.is(i, "(") || source_.is(i, "[") || source_.is(i, "{")) &&
           source_.partner(i) < source_.size();
  }

  /// The first > of the >>> that is followed by a parenthesis, outside of all brackets. Where a
  /// macro ends with it, the parenthesis follows where the macro is used.
  [[nodiscard]] std::size_t find_launch_end(std::size_t open) const {
    const int directive = source_[open].directive;
    for (std::size_t i = open + 3; i < source_.size() && source_[i].directive == directive; ++i) {
      if (source_.is(i, ";")) break;
      if (opens(i))
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
      if (opens(i)) {
        const std::size_t end = source_.partner(i);
        if (first && source_.is(i, "{") && (end + 1 == close || source_.is(end + 1, ","))) {
          replace(i, std::string(kNamespace) + "braces(");
          replace(end, ")");
        }
        i = end;
      } else if (first && (source_.is(i, "0") || source_.is(i, "NULL")) &&
                 (i + 1 == close || source_.is(i + 1, ","))) {
        replace(i, std::string(kNamespace) + "Zero{}");
        found = true;
      }
    }
    return found;
  }

  // ---- variables --------------------------------------------------------------------------------

  /// Names declared between `begin` and the ; at `end`, as token indices.
  [[nodiscard]] std::vector<std::size_t> declared_names(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> names;
    std::size_t last_identifier = end;
    bool in_declarator = false;
    int depth = 0;
    for (std::size_t i = begin; i <= end; ++i) {
      const Token& token = source_[i];
      const bool ends_name =
          i == end || token.is("[") || token.is("=") || token.is(",") ||
          (token.is("{") && last_identifier + 1 == i && depth == 0 && !is_class_head(begin, i));
      if (depth == 0 && ends_name && !in_declarator && last_identifier != end) {
        names.push_back(last_identifier);
        in_declarator = true;
      }
      if (depth == 0 && token.is(",")) {
        in_declarator = false;
        last_identifier = end;
      }
      if (token.is("<")) ++depth;
      if (token.is(">")) --depth;
      if (i < end && opens(i) && !opens_declarator(i))
        i = source_.partner(i);
      else if (token.kind == Token::Kind::kIdentifier && depth == 0)
        last_identifier = i;
    }
    return names;
  }

  /// The parenthesis of `float (*rows)[8]`, which holds the name.
  [[nodiscard]] bool opens_declarator(std::size_t i) const {
    return source_.is(i, "(") && (source_.is(i + 1, "*") || source_.is(i + 1, "&"));
  }

  [[nodiscard]] bool is_class_head(std::size_t begin, std::size_t brace) const {
    for (std::size_t i = begin; i < brace; ++i)
      if (source_.is(i, "struct") || source_.is(i, "union") || source_.is(i, "class")) return true;
    return false;
  }

  [[nodiscard]] std::size_t statement_end(std::size_t i) const {
    const int directive = source_[i].directive;
    for (; i < source_.size() && source_[i].directive == directive; ++i) {
      if (source_.is(i, ";")) return i;
      if (opens(i)) i = source_.partner(i);
    }
    return source_.size();
  }

  /// First token of the declaration that contains `i`: specifiers may stand before __shared__.
  [[nodiscard]] std::size_t declaration_begin(std::size_t i) const {
    static const std::set<std::string_view> specifiers = {"extern", "static", "volatile",
                                                          "const",  "inline", "constexpr"};
    while (i > 0) {
      if (specifiers.contains(source_[i - 1].text)) {
        --i;
      } else if (source_.is(i - 1, ")") && source_.partner(i - 1) < source_.size() &&
                 source_.partner(i - 1) > 0 && is_alignment(source_.partner(i - 1) - 1)) {
        i = source_.partner(i - 1) - 1;
      } else {
        break;
      }
    }
    return i;
  }

  [[nodiscard]] bool is_alignment(std::size_t i) const {
    return source_.is(i, "alignas") || source_.is(i, "__align__") || source_.is(i, "__attribute__");
  }

  void shared_variable(std::size_t keyword) {
    const std::size_t begin = declaration_begin(keyword);
    const std::size_t end = statement_end(keyword);
    if (end >= source_.size()) return;  // a macro that pastes only the qualifier
    if (source_[keyword].directive == 0 && source_.scope(keyword) == Scope::kClass) {
      complain(keyword,
               "a __shared__ variable cannot be a member of a class: declare it in the kernel");
      return;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const bool initialised = source_.is(i, "=") || (source_.is(i, "{") && source_.is(i - 1, "]"));
      if (opens(i)) i = source_.partner(i);
      if (!initialised) continue;
      // On a later line it belongs to a statement before which the ; is missing: to the compiler.
      if (source_[i].line == source_[keyword].line)
        complain(i, "a __shared__ variable cannot have an initial value");
      return;
    }
    blank_specifiers(begin, end);
    replace(keyword, "typedef   ");
    const bool is_local =
        source_[keyword].directive != 0 || source_.scope(keyword) == Scope::kFunction;
    const bool dynamic = is_dynamic(begin, end);
    std::string after;
    for (const std::size_t index : declared_names(begin, end)) {
      const std::string name(source_[index].text);
      const std::string type = "convlab_type_" + name;
      replace(index, type + anchor(index, source_[index].end()));
      // What is declared here stands in the column of the variable, where warnings are to point.
      const std::string at_name = anchor(index, source_[index].offset);
      if (!dynamic)
        after +=
            joined({at_name, "static_assert(sizeof(", type, ")", at_name, kSharedLimit, kNamespace,
                    "SharedSlot convlab_slot_", name, "{\"", name, "\", __FILE__, __LINE__};"});
      if (is_local)
        after += joined({type, anchor(index, source_[index].offset - 1), "&", name, " = ",
                         shared_value(name, begin, end), ";"});
    }
    insert(source_[end].end(), after + anchor(end, source_[end].end()));
  }

  [[nodiscard]] bool is_dynamic(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (source_.is(i, "extern")) return true;
    return false;
  }

  /// Leaves of a declaration what may stand in a typedef.
  void blank_specifiers(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t last = i;
      if (is_alignment(i) && source_.is(i + 1, "("))
        last = source_.partner(i + 1);
      else if (!source_.is(i, "extern") && !source_.is(i, "static"))
        continue;
      const std::size_t first = source_[i].offset;
      std::string blank(text_.substr(first, source_[last].end() - first));
      std::replace_if(
          blank.begin(), blank.end(), [](char c) { return c != '\n' && c != '\t'; }, ' ');
      replace_range(first, blank.size(), blank);
      i = last;
    }
  }

  /// The variable of the running block, declared between these tokens.
  [[nodiscard]] std::string shared_value(const std::string& name, std::size_t begin,
                                         std::size_t end) const {
    if (is_dynamic(begin, end))
      return joined({kNamespace, "dynamic_shared<convlab_type_", name, ">()"});
    std::string alignment;
    for (std::size_t i = begin; i < end; ++i)
      if (is_alignment(i) && opens(i + 1) && !source_.is(i, "__attribute__"))
        alignment = ", " + source_.text(i + 2, source_.partner(i + 1));
    return joined({kNamespace, "shared_variable<convlab_type_", name, ">(convlab_slot_", name,
                   alignment, ")"});
  }

  /// A function that uses shared variables of the file gets them where its body begins.
  void use_shared_variables(std::size_t brace) {
    if (!opens(brace) || source_[brace].directive != 0 ||
        source_.scope(brace) == Scope::kFunction || source_.scope(brace + 1) != Scope::kFunction)
      return;
    std::string declarations;
    for (const auto& [name, value] : names_.shared_variables)
      if (uses_from_outside(name, brace))
        declarations += joined({" auto& ", name, " = ", value, ";"});
    if (!declarations.empty())
      insert(source_[brace].end(), declarations + anchor(brace, source_[brace].end()));
  }

  /// Whether the function mentions the name, itself or by a macro, and declares nothing of that
  /// name.
  [[nodiscard]] bool uses_from_outside(const std::string& name, std::size_t brace) const {
    std::size_t begin = brace;
    while (begin > 0 && source_[begin - 1].directive == 0 && !source_.is(begin - 1, ";") &&
           !source_.is(begin - 1, "}") && !source_.is(begin - 1, "{"))
      --begin;
    bool uses = false;
    for (std::size_t i = begin; i < source_.partner(brace); ++i) {
      if (source_[i].kind != Token::Kind::kIdentifier) continue;
      const auto macro = names_.macros.find(source_[i].text);
      if (macro != names_.macros.end()) {
        const auto& words = macro->second.replacement;
        uses = uses || std::count(words.begin(), words.end(), name) > 0;
      }
      if (!source_.is(i, name) || i == 0) continue;
      const Token& before = source_[i - 1];
      if (before.is(".") || before.is("->") || before.is("::")) continue;
      const bool declared = before.kind == Token::Kind::kIdentifier && !is_keyword(before.text) &&
                            !before.is("sizeof") && before.directive == source_[i].directive;
      if (declared || i < brace) return false;
      uses = true;
    }
    return uses;
  }

  [[nodiscard]] bool qualifies_variable(std::size_t i) const {
    return source_.is(i, "__device__") || source_.is(i, "__constant__") ||
           source_.is(i, "__managed__");
  }

  /// Registers a variable of the device; functions and declarations are left alone.
  void symbol(std::size_t keyword) {
    const std::size_t begin = declaration_begin(keyword);
    if (source_.is(begin, "extern") || (begin > 0 && source_.is(begin - 1, ">"))) return;
    const std::size_t end = statement_end(keyword);
    if (end >= source_.size()) return;
    for (std::size_t i = keyword; i < end; ++i) {
      if (source_.is(i, "=") || source_.is(i, "[") || source_.is(i, "{")) break;
      if (is_alignment(i) && opens(i + 1))
        i = source_.partner(i + 1);
      else if (source_.is(i, "(") || source_.is(i, "extern") || source_.is(i, "operator"))
        return;
    }
    // Several qualifiers on one variable register it once.
    for (std::size_t i = begin; i < keyword; ++i)
      if (qualifies_variable(i)) return;
    if (keyword > 0 && qualifies_variable(keyword - 1)) return;
    const char* kind = "kDevice";
    for (std::size_t i = begin; i < end; ++i) {
      if (source_.is(i, "__constant__")) kind = "kConstant";
      if (source_.is(i, "__managed__")) kind = "kManaged";
    }
    std::string after;
    for (const std::size_t index : declared_names(keyword, end)) {
      const std::string name(source_[index].text);
      after += joined({" static const ", kNamespace, "DeviceSymbol convlab_symbol_", name, "(\"",
                       name, "\", &", name, ", sizeof(", name, "), ", kNamespace,
                       "SymbolKind::", kind, ", __BASE_FILE__);"});
    }
    if (!after.empty()) insert(source_[end].end(), after + anchor(end, source_[end].end()));
  }

  /// Has the kernel check its launch bounds where its body begins.
  void launch_bounds(std::size_t keyword) {
    if (!source_.is(keyword + 1, "(") || !opens(keyword + 1)) return;
    const std::size_t close = source_.partner(keyword + 1);
    check_at_body(close, source_.text(keyword + 1, close + 1));
  }

  /// In the body that follows token i; a declaration has none.
  void check_at_body(std::size_t i, const std::string& bounds) {
    const int directive = source_[i].directive;
    for (++i; i < source_.size() && source_[i].directive == directive; ++i) {
      if (source_.is(i, ";")) return;
      if (source_.is(i, "{")) {
        insert(source_[i].end(), joined({" ", kNamespace, "check_launch_bounds", bounds, ";",
                                         anchor(i, source_[i].end())}));
        return;
      }
      if (opens(i)) i = source_.partner(i);
    }
  }

  // ---- the rest ---------------------------------------------------------------------------------

  void refuse_unsupported(std::size_t i) {
    static const std::set<std::string_view> textures = {"cudaTextureObject_t",
                                                        "cudaSurfaceObject_t",
                                                        "tex1D",
                                                        "tex2D",
                                                        "tex3D",
                                                        "tex1Dfetch",
                                                        "tex2DLod",
                                                        "surf2Dread",
                                                        "surf2Dwrite"};
    static const std::set<std::string_view> grid_wide = {"cudaLaunchCooperativeKernel"};
    const std::string_view name = source_[i].text;
    if (textures.contains(name) || (name == "texture" && source_.is(i + 1, "<")))
      complain(i, "textures and surfaces cannot be emulated: read from global memory");
    else if (grid_wide.contains(name))
      complain(i, "synchronization of a whole grid cannot be emulated: launch two kernels");
  }

  void replace_includes(const std::vector<Include>& includes) {
    for (std::size_t i = 0; i + 2 < source_.size(); ++i) {
      if (!source_.is(i, "#") || !source_.is(i + 1, "include") ||
          source_[i + 2].kind != Token::Kind::kString)
        continue;
      const std::string_view quoted_name = source_[i + 2].text;
      for (const Include& include : includes)
        if (quoted_name.substr(1, quoted_name.size() - 2) == include.name)
          replace(i + 2, '"' + include.target + '"');
    }
  }

  /// The #include of a library that needs a GPU is turned into one of a header whose name says so.
  /// Compilers end there, where an #error would let them go on to each use of the library; what #if
  /// skips stays skipped.
  void refuse_libraries() {
    static constexpr std::string_view kFolders[] = {"cub", "cute", "cutlass", "thrust"};
    static constexpr std::string_view kPrefixes[] = {"cublas",   "cudnn",    "cufft", "curand",
                                                     "cusolver", "cusparse", "nccl",  "npp",
                                                     "nvjpeg",   "nvml",     "nvrtc"};
    for (std::size_t i = 0; i + 4 < source_.size(); ++i) {
      if (!source_.is(i, "#") || !source_.is(i + 1, "include") || !source_.is(i + 2, "<")) continue;
      const std::string_view first = source_[i + 3].text;
      const bool library =
          (source_.is(i + 4, "/") &&
           std::count(std::begin(kFolders), std::end(kFolders), first) > 0) ||
          std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                      [&](std::string_view prefix) { return first.starts_with(prefix); });
      if (!library) continue;
      std::size_t close = i + 4;
      while (close < source_.size() && !source_.is(close, ">")) ++close;
      if (close < source_.size() && source_[close].directive == source_[i].directive)
        insert(source_[close].offset, " needs a GPU and cannot be emulated");
    }
  }

  /// As + does, but for GCC 12's false warning: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
  static std::string joined(std::initializer_list<std::string_view> parts) {
    std::string result;
    for (const std::string_view part : parts) result += part;
    return result;
  }

  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + '"';
  }

  void complain(std::size_t i, std::string message) {
    diagnostics_.push_back({source_[i].line, std::move(message)});
  }
  void insert(std::size_t offset, std::string text) {
    edits_.push_back({offset, 0, std::move(text)});
  }
  void replace(std::size_t i, std::string text) {
    replace_range(source_[i].offset, source_[i].text.size(), std::move(text));
  }
  void replace_range(std::size_t offset, std::size_t length, std::string text) {
    edits_.push_back({offset, length, std::move(text)});
  }

  Rewritten finish() {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
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

  std::string_view text_;
  const Source& source_;
  const Names& names_;
  std::vector<Edit> edits_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

Names collect_names(const std::vector<const Source*>& sources) {
  Names names;
  for (const Source* source : sources) collect_kernels(*source, names.kernels);
  for (const Source* source : sources) collect_macros(*source, names.macros);
  for (const Source* source : sources) collect_functions(*source, names.macros, names.functions);
  for (const Source* source : sources)
    FileRewriter({}, *source, names).collect_shared_variables(names.shared_variables);
  return names;
}

Rewritten rewrite(std::string_view text, const Source& source, const Names& names,
                  const std::vector<Include>& includes) {
  return FileRewriter(text, source, names).run(includes);
}

std::vector<std::string> quoted_includes(const Source& source) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 2 < source.size(); ++i)
    if (source.is(i, "#") && source.is(i + 1, "include") &&
        source[i + 2].kind == Token::Kind::kString)
      names.emplace_back(source[i + 2].text.substr(1, source[i + 2].text.size() - 2));
  return names;
}

}  // namespace convlab::rewrite
