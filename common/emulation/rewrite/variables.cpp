#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

const Words kQualifiers = {"__device__", "__constant__", "__managed__"};

constexpr std::string_view kSharedLimit =
    "<= 49152, \"a block has 48 KiB of static shared memory\"); static thread_local ";

struct VariableRewriter : File {
  void collect(SharedVariableTable& variables) const {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (!source.is(i, "__shared__") || source[i].directive != 0 ||
          source.scope(i) != Scope::kFile)
        continue;
      const std::size_t begin = declaration_begin(i);
      const std::size_t end = statement_end(i);
      if (end >= source.size()) continue;
      for (const std::size_t index : declared_names(begin, end)) {
        const std::string name(source[index].text);
        variables.emplace(name, shared_value(name, begin, end));
      }
    }
  }

  void shared_variable(std::size_t keyword) {
    const std::size_t begin = declaration_begin(keyword);
    const std::size_t end = statement_end(keyword);
    if (end >= source.size()) return;  // a macro that pastes only the qualifier
    if (source[keyword].directive == 0 && source.scope(keyword) == Scope::kClass)
      return editor.complain(
          keyword, "a __shared__ variable cannot be a member of a class: declare it in the kernel");
    for (std::size_t i = begin; i < end; ++i) {
      const bool initialised = source.is(i, "=") || (source.is(i, "{") && source.is(i - 1, "]"));
      if (source.opens(i)) i = source.partner(i);
      if (!initialised) continue;
      // On a later line it belongs to a statement before which the ; is missing: to the compiler.
      if (source[i].line == source[keyword].line)
        editor.complain(i, "a __shared__ variable cannot have an initial value");
      return;
    }
    blank_specifiers(begin, end);
    editor.replace(keyword, "typedef   ");
    const bool is_local =
        source[keyword].directive != 0 || source.scope(keyword) == Scope::kFunction;
    const bool dynamic = source.has(begin, end, {"extern"});
    std::string after;
    for (const std::size_t index : declared_names(begin, end)) {
      const bool is_parameter = is_parameter_of_macro(index);
      const std::string name = (is_parameter ? "##" : "") + std::string(source[index].text);
      const std::string text = is_parameter ? name.substr(1) : string_literal(name);
      const std::string type = "convlab_type_" + name;
      editor.replace(index, type + editor.anchor(index, source[index].end()));
      // What is declared here stands in the column of the variable, where warnings are to point.
      const std::string at_name = editor.anchor(index, source[index].offset);
      if (dynamic && is_local && source[keyword].directive == 0)
        after += joined({at_name, "struct convlab_place_", name,
                         " { static const char* name() { return \"", source.space_of(keyword), name,
                         "\"; } static const char* file() { return __FILE__; } static unsigned "
                         "line() { return __LINE__; } }; ",
                         kRuntime, "DynamicArray<", type, ", convlab_place_", name, ">::note();"});
      if (const std::string alignment = alignment_of(begin, end); dynamic && !alignment.empty())
        after += joined({" struct ", alignment, " ", aligned_type(name, begin), " {};"});
      if (!dynamic)
        after +=
            joined({at_name, "static_assert(sizeof(", type, ")", at_name, kSharedLimit, kRuntime,
                    "SharedSlot convlab_slot_", name, "{", text, ", __FILE__, __LINE__};"});
      if (is_local)
        after += joined({type, editor.anchor(index, source[index].offset - 1), "&",
                         source[index].text, " = ", shared_value(name, begin, end), ";"});
      if (const std::string kernel = dynamic ? "" : kernel_around(keyword); !kernel.empty())
        after += joined({" static_cast<void>(&", kRuntime, "StaticShared<", kernel, ", ", type,
                         ", ", std::to_string(source[index].offset), ">::kNoted);"});
    }
    editor.insert(source[end].end(),
                  (source.is(end, ";") ? "" : ";") + after + editor.anchor(end, source[end].end()));
  }

  void use_shared_variables(std::size_t brace) {
    if (!source.opens(brace) || source[brace].directive != 0 ||
        source.scope(brace) == Scope::kFunction || source.scope(brace + 1) != Scope::kFunction)
      return;
    std::string declarations;
    for (const auto& [name, value] : names.shared_variables)
      if (uses_from_outside(name, brace))
        declarations += joined({" auto& ", name, " = ", value, ";"});
    if (!declarations.empty())
      editor.insert(source[brace].end(), declarations + editor.anchor(brace, source[brace].end()));
  }

  void register_symbol(std::size_t keyword) {
    const std::size_t begin = declaration_begin(keyword);
    const std::size_t end = statement_end(keyword);
    if (end >= source.size()) return;
    for (std::size_t i = keyword; i < end; ++i) {
      if (source[i].directive != source[keyword].directive) continue;
      if (source.is(i, "[") && source.is(i + 1, "[")) i = source.partner(i) + 1;
      if (source.is(i, "=") || source.is(i, "[") || source.is(i, "{") || begins_value(i)) break;
      if (const std::size_t behind = behind_alignment(i); behind > i)
        i = behind - 1;
      else if (source.is(i, "(") || source.is(i, "extern") || source.is(i, "operator"))
        return;
    }
    const std::vector<std::size_t> declared = declared_names(keyword, end);
    const bool is_member = source.scope(keyword) == Scope::kClass ||
                           (!declared.empty() && source.is(declared.front() - 1, "::"));
    if (is_member && !declared.empty())
      return editor.complain(keyword, joined({"a ", source[keyword].text,
                                              " variable cannot be a member of a class: declare "
                                              "it outside"}));
    const bool is_template =
        begin > 0 && source.is(begin - 1, ">") && source[begin - 1].directive == 0;
    if (source.is(begin, "extern") || is_member || source.has(begin, end, {"__shared__"})) return;
    // Several qualifiers on one variable register it once.
    const bool follows = keyword == begin && keyword > 0 && source[keyword - 1].directive == 0;
    if (writes(begin - (follows ? 1 : 0), keyword, kQualifiers)) return;
    const char* const kind = writes(begin, end, {"__managed__"})    ? "kManaged"
                             : writes(begin, end, {"__constant__"}) ? "kConstant"
                                                                    : "kDevice";
    const std::string section = section_of(begin, keyword, end);
    if (is_template) {
      if (declared.size() == 1 && !section.empty()) give_pages(begin, end, declared.front(), kind);
      return;
    }
    if (!section.empty())
      editor.insert(source[keyword].end(),
                    joined({" ", section, editor.anchor(keyword, source[keyword].end())}));
    std::string after;
    for (const std::size_t index : declared) {
      const std::string name(source[index].text);
      if (!section.empty()) after += joined({" CONVLAB_GAP(", section, ", ", name, ");"});
      after += joined({" static const ", kRuntime, "DeviceSymbol convlab_symbol_", name, "(\"",
                       name, "\", &", name, ", sizeof(", name, "), ", kRuntime,
                       "SymbolKind::", kind, ", __BASE_FILE__, __FILE__, __LINE__);"});
    }
    if (!after.empty())
      editor.insert(source[end].end(), after + editor.anchor(end, source[end].end()));
  }

  /// Whether one of the tokens is one of the words, or a macro that writes one.
  [[nodiscard]] bool writes(std::size_t begin, std::size_t end, const Words& words) const {
    for (std::size_t i = begin; i < end; ++i)
      if (convlab::rewrite::writes(source[i].text, words, names.macros)) return true;
    return false;
  }

 private:
  /// Where a variable of the device lies; empty for a constant, of which the host may have the
  /// value, and for what several objects have.
  [[nodiscard]] std::string section_of(std::size_t begin, std::size_t keyword,
                                       std::size_t end) const {
    std::size_t head = keyword;  // where the value or the size begins
    while (head < end && !source.is(head, "=") && !source.is(head, "[") && !source.is(head, "{"))
      ++head;
    bool is_constant = false;
    for (std::size_t i = begin; i < head; ++i) {
      if (source.is(i, "const") || source.is(i, "constexpr")) is_constant = true;
      if (source.is(i, "*")) is_constant = false;
    }
    if (is_constant || source.has(begin, end, {"inline", "thread_local"})) return {};
    if (writes(begin, end, {"__managed__"})) return "CONVLAB_MANAGED_VARIABLE";
    static const Words numbers = words_of("float double int unsigned char short long bool");
    bool is_array = source.is(head, "[");
    for (std::size_t i = begin; i < end; ++i)
      if (source.is(i, "=") || source.is(i, "{")) is_array = false;
    return is_array && source.has(begin, head, numbers) ? "CONVLAB_DEVICE_ARRAY"
                                                        : "CONVLAB_DEVICE_VARIABLE";
  }

  /// The ( of a variable, not of a function: `Box box(7)`, `int (*sum)(int, int)`.
  [[nodiscard]] bool begins_value(std::size_t i) const {
    if (!source.is(i, "(")) return false;
    if (source.is(i + 1, "*")) return opens_declarator(i) && !source.is(i + 3, "(");
    return source[i + 1].kind == Token::Kind::kNumber || source.is(i + 1, "-");
  }

  /// The kernel in whose body token i stands, as its body can name it: a cast that picks it by the
  /// types of its parameters, of "sum<N>". Empty where the name may mean something else. A macro
  /// may write the kernel.
  [[nodiscard]] std::string kernel_around(std::size_t i) const {
    const int directive = source[i].directive;
    for (std::size_t brace = i; brace-- > 1 && !source.is(brace, "(");) {
      if (directive != 0 && source[brace].directive != directive) break;
      const bool closes = source.is(brace, ")") || source.is(brace, "}") || source.is(brace, "]");
      if (closes && source.partner(brace) < brace)
        brace = source.partner(brace);
      else if (source.is(brace, "{") && source.is(brace - 1, ")") && source.opens(brace))
        if (std::string kernel = kernel_with_body(brace); !kernel.empty()) return kernel;
    }
    return {};
  }

  [[nodiscard]] std::string kernel_with_body(std::size_t body) const {
    const std::size_t open = source.partner(body - 1);
    if (open >= body || open < 2 || source[open - 1].kind != Token::Kind::kIdentifier) return {};
    const std::string name(source[open - 1].text);
    for (std::size_t each = open; each < source.partner(body); ++each)
      if (source.is(each, name)) return {};
    static const Words ends = words_of("; { } ( ) define ##");
    bool is_kernel = false;
    std::size_t begin = open - 1;
    for (; begin > 0 && source[begin - 1].directive == source[open].directive; --begin) {
      const std::size_t before = begin - 1;
      is_kernel |= writes(before, begin, {"__global__"});
      if (source.is(before, ")") && source.partner(before) < before && source.partner(before) > 0 &&
          source[source.partner(before) - 1].text.starts_with("__"))
        begin = source.partner(before);  // __launch_bounds__(256)
      else if (ends.contains(source[before].text))
        break;
    }
    const std::string types = types_of_parameters(open);
    if (!is_kernel || source.is(open - 2, "#") || types.empty()) return {};
    std::size_t head = begin;
    while (head < open && !source.is(head, "template")) ++head;
    std::string arguments;
    if (head < open) {
      std::size_t end = head + 1;
      for (int depth = 0; end < open; ++end) {
        depth += source.is(end, "<") ? 1 : source.is(end, ">") ? -1 : 0;
        if (depth == 0) break;
      }
      arguments = template_arguments(head + 2, end + 1);
      if (arguments.empty()) return {};
      arguments = "<" + arguments + ">";
    }
    return joined({"static_cast<void (*)", types, ">(&", name, arguments, ")"});
  }

  /// "(ByValue<decltype(a)>, …)" of the parameters behind `open`; empty if one has no name.
  [[nodiscard]] std::string types_of_parameters(std::size_t open) const {
    const std::size_t close = source.partner(open);
    std::string types = "(";
    if (close > open + 1) {
      if (source.has(open, close, {"."})) return {};
      for (const std::size_t each : declared_names(open + 1, close)) {
        // Without a name it ends with its type.
        const bool is_named = source[each - 1].kind != Token::Kind::kPunctuation ||
                              source.is(each - 1, "*") || source.is(each - 1, "&") ||
                              source.is(each - 1, ">");
        const bool is_type = kWholeNumbers.contains(source[each].text) ||
                             source.is(each, "float") || source.is(each, "double") ||
                             (source.is(each - 1, "const") && each - 2 <= open);
        if (!is_named || is_type || source.is(each + 1, "*") || source.is(each + 1, "&")) return {};
        types += joined(
            {types.size() > 1 ? ", " : "", kRuntime, "ByValue<decltype(", source[each].text, ")>"});
      }
    }
    return types + ")";
  }

  /// Of a template its own parameters, "T, N", from the tokens after the < to the one after the >:
  /// the last name of each, before its default. Empty if one has no name, or there is none.
  [[nodiscard]] std::string template_arguments(std::size_t begin, std::size_t end) const {
    static const Words types = words_of(
        "typename class bool char short int long unsigned signed float double auto size_t");
    std::string arguments;
    std::string last;
    bool has_default = false;
    int depth = 0;
    for (std::size_t each = begin; each < end; ++each) {
      if (depth == 0 && (source.is(each, ",") || each + 1 == end)) {
        if (last.empty() || types.contains(last)) return {};
        arguments += (arguments.empty() ? "" : ", ") + last;
        last.clear();
        has_default = false;
        continue;
      }
      if (source.is(each, "template")) return {};
      if (source.is(each, "<")) ++depth;
      if (source.is(each, ">")) --depth;
      if (source.is(each, "=")) has_default = true;
      if (!has_default && depth == 0 && source[each].kind == Token::Kind::kIdentifier)
        last = source[each].text;
    }
    return arguments;
  }

  /// Compilers give the variables of a template no section: each gets pages of its own, as a member
  /// of a struct, and its name becomes a reference, `template <class T> auto& scale = …`.
  void give_pages(std::size_t begin, std::size_t end, std::size_t index, const char* kind) {
    std::size_t head = begin - 1;
    for (int depth = 1; head > 0 && depth > 0;) {
      --head;
      depth += source.is(head, ">") ? 1 : source.is(head, "<") ? -1 : 0;
    }
    const std::string arguments = template_arguments(head + 1, begin);
    if (head == 0 || arguments.empty() || source.is(index + 1, "<")) return;
    const std::string name(source[index].text);
    const std::string of = joined({" template ", source.text(head, begin), " "});
    const std::string place = joined({"convlab_at_", name, "<", arguments, ">"});
    editor.insert(source[begin].offset,
                  joined({"struct convlab_pages_", name, " { CONVLAB_OWN_PAGES ",
                          editor.anchor(begin, source[begin].offset)}));
    for (std::size_t i = begin; i < index; ++i)
      if (source.is(i, "static") || source.is(i, "inline"))
        editor.blank(source[i].offset, source[i].end());
    const std::string pages = joined({" };", of, "convlab_pages_", name, "<", arguments, "> "});
    const std::string value = joined({kRuntime, "variable_of_template(", place, ".", name, ", "});
    const std::string symbol = joined({string_literal(name), ", ", kRuntime, "SymbolKind::", kind});
    editor.insert(
        source[end].end(),
        joined({pages, "convlab_at_", name, ";", of, "auto& ", name, " = ", value, symbol,
                ", __BASE_FILE__, __FILE__, __LINE__);", editor.anchor(end, source[end].end())}));
  }

  /// Names declared between `begin` and the ; at `end`, as token indices.
  [[nodiscard]] std::vector<std::size_t> declared_names(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> found;
    std::size_t last_identifier = end;
    bool in_declarator = false;
    int depth = 0;
    for (std::size_t i = begin; i <= end; ++i) {
      const Token& token = source[i];
      const bool ends_name = i == end || token.is("[") || token.is("=") || token.is(",") ||
                             (token.is("{") && last_identifier + 1 == i && depth == 0 &&
                              !source.has(begin, i, {"struct", "union", "class"}));
      if (depth == 0 && ends_name && !in_declarator && last_identifier != end) {
        found.push_back(last_identifier);
        in_declarator = true;
      }
      if (depth == 0 && token.is(",")) {
        in_declarator = false;
        last_identifier = end;
      }
      if (token.is("<")) ++depth;
      if (token.is(">")) --depth;
      if (i < end && source.opens(i) && !opens_declarator(i))
        i = source.partner(i);
      else if (token.kind == Token::Kind::kIdentifier && depth == 0)
        last_identifier = i;
    }
    return found;
  }

  /// The parenthesis of `float (*rows)[8]`, which holds the name.
  [[nodiscard]] bool opens_declarator(std::size_t i) const {
    // Or a name alone: `int (s)[32]`.
    return source.is(i, "(") &&
           (source.is(i + 1, "*") || source.is(i + 1, "&") ||
            (source.is(i + 2, ")") && i > 0 && source[i - 1].kind == Token::Kind::kIdentifier &&
             behind_alignment(i - 1) < i));
  }

  /// The ; or, where a macro leaves it to its user, the end of an array; size() for neither.
  [[nodiscard]] std::size_t statement_end(std::size_t i) const {
    const int directive = source[i].directive;
    for (; i < source.size() && (directive == 0 || source[i].directive == directive); ++i) {
      if (source[i].directive != directive) continue;  // #endif behind a qualifier
      if (source.is(i, ";")) return i;
      if (source.opens(i)) i = source.partner(i);
    }
    return directive != 0 && source.is(i - 1, "]") ? i - 1 : source.size();
  }

  /// Of a macro that declares variables, whose own names begin with theirs.
  [[nodiscard]] bool is_parameter_of_macro(std::size_t name) const {
    std::size_t open = name;
    while (open > 0 && source[open - 1].directive == source[name].directive) --open;
    open += 3;  // # define M (
    return source[name].directive != 0 && open < name && source.is(open, "(") &&
           source.partner(open) < name &&
           source.has(open, source.partner(open), {source[name].text});
  }

  /// First token of the declaration that contains `i`: specifiers may stand before __shared__.
  [[nodiscard]] std::size_t declaration_begin(std::size_t i) const {
    static const Words specifiers = words_of("extern static volatile const inline constexpr");
    while (i > 0 && source[i - 1].directive == source[i].directive)
      if (specifiers.contains(source[i - 1].text))
        --i;
      else if (behind_alignment(i - 1) == i)
        --i;
      else if (source.is(i - 1, ")") && source.partner(i - 1) < i && source.partner(i - 1) > 0 &&
               behind_alignment(source.partner(i - 1) - 1) == i)
        i = source.partner(i - 1) - 1;
      else
        break;
    return begins_with_type(i).value_or(i);
  }

  /// `extern float __shared__ s[];`: the type may stand before the qualifier, too. Then the
  /// declaration begins behind the statement before.
  [[nodiscard]] std::optional<std::size_t> begins_with_type(std::size_t i) const {
    std::size_t begin = i;
    while (begin > 0 && source[begin - 1].directive == source[i].directive &&
           source[begin - 1].kind == Token::Kind::kIdentifier)
      --begin;
    const bool after_statement =
        begin > 0 &&
        (source.is(begin - 1, ";") || source.is(begin - 1, "{") || source.is(begin - 1, "}"));
    if (begin == i || !after_statement) return std::nullopt;
    return begin;
  }

  /// The token behind the alignas(…), __align__(…) or __attribute__((…)) that begins at i, or
  /// behind a macro that writes no more than that; i where none begins.
  [[nodiscard]] std::size_t behind_alignment(std::size_t i) const {
    static const Words words = words_of("alignas __align__ __attribute__");
    const auto macro = names.macros.find(source[i].text);
    const bool is_macro = macro != names.macros.end() && !macro->second.replacement.empty() &&
                          words.contains(macro->second.replacement.front()) &&
                          macro->second.replacement.back() == ")";
    if (is_macro && !macro->second.takes_arguments) return i + 1;
    return (is_macro || words.contains(source[i].text)) && source.opens(i + 1)
               ? source.partner(i + 1) + 1
               : i;
  }

  /// Leaves of a declaration what may stand in a typedef.
  void blank_specifiers(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t behind = behind_alignment(i);
      if (behind == i && !source.is(i, "extern") && !source.is(i, "static")) continue;
      const std::size_t last = behind > i ? behind - 1 : i;
      editor.blank(source[i].offset, source[last].end());
      i = last;
    }
  }

  /// The variable of the running block, declared between these tokens.
  [[nodiscard]] std::string shared_value(const std::string& name, std::size_t begin,
                                         std::size_t end) const {
    const std::string alignment = alignment_of(begin, end);
    if (source.has(begin, end, {"extern"}))
      return joined({kRuntime, "dynamic_shared<convlab_type_", name,
                     alignment.empty() ? "" : ", alignof(" + aligned_type(name, begin) + ")",
                     ">()"});
    return joined({kRuntime, "shared_variable<convlab_type_", name, ">(convlab_slot_", name,
                   alignment.empty()
                       ? ""
                       : ", [] { struct " + alignment + " Aligned {}; return alignof(Aligned); }()",
                   ")"});
  }

  /// Several declarations may have one name.
  [[nodiscard]] std::string aligned_type(const std::string& name, std::size_t begin) const {
    return "convlab_align_" + std::to_string(source[begin].offset) + "_" + name;
  }

  /// Its alignas, __align__ or __attribute__; empty if there is none.
  [[nodiscard]] std::string alignment_of(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (const std::size_t behind = behind_alignment(i); behind > i) return source.text(i, behind);
    return {};
  }

  /// Whether the function mentions the name, itself or by a macro, and declares nothing of that
  /// name.
  [[nodiscard]] bool uses_from_outside(const std::string& name, std::size_t brace) const {
    std::size_t begin = brace;
    while (begin > 0 && source[begin - 1].directive == 0 && !source.is(begin - 1, ";") &&
           !source.is(begin - 1, "}") && !source.is(begin - 1, "{"))
      --begin;
    bool uses = false;
    for (std::size_t i = begin; i < source.partner(brace); ++i) {
      if (source[i].kind != Token::Kind::kIdentifier) continue;
      const auto macro = names.macros.find(source[i].text);
      if (macro != names.macros.end()) {
        const auto& words = macro->second.replacement;
        uses = uses || std::ranges::count(words, name) > 0;
      }
      if (!source.is(i, name) || i == 0) continue;
      const Token& before = source[i - 1];
      if (before.is(".") || before.is("->") || before.is("::")) continue;
      const bool declared = before.kind == Token::Kind::kIdentifier && !is_keyword(before.text) &&
                            !before.is("sizeof") && before.directive == source[i].directive;
      if (declared || i < brace) return false;
      uses = true;
    }
    return uses;
  }
};

}  // namespace

void collect_shared_variables(const Source& source, Names& names) {
  Editor editor({}, source);
  VariableRewriter{{source, names, editor}}.collect(names.shared_variables);
}

void rewrite_variables(const File& file) {
  VariableRewriter rewriter{file};
  const Source& source = file.source;
  for (std::size_t i = 0; i < source.size(); ++i)
    if (source.is(i, "__shared__"))
      rewriter.shared_variable(i);
    else if (source.is(i, "{") && !file.names.shared_variables.empty())
      rewriter.use_shared_variables(i);
    else if (source[i].directive == 0 && source.scope(i) != Scope::kFunction &&
             rewriter.writes(i, i + 1, kQualifiers))
      rewriter.register_symbol(i);
}

}  // namespace convlab::rewrite
