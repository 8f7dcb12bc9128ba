#include <algorithm>
#include <cctype>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::rewrite {
namespace {

bool holds_configuration(const std::vector<std::string>& words) {
  const auto is_triple = [&](std::size_t i, const char* word) {
    return std::count(words.begin() + static_cast<std::ptrdiff_t>(i),
                      words.begin() + static_cast<std::ptrdiff_t>(i) + 3, word) == 3;
  };
  return words.size() > 6 && is_triple(0, "<") && is_triple(words.size() - 3, ">");
}

/// Identifiers that stand before a parenthesis and declare nothing.
const Words kClauses = words_of(
    "__attribute__ __launch_bounds__ __align__ alignas decltype noexcept static_assert requires "
    "explicit __declspec __maxnreg__ operator typeof __typeof__ sizeof throw asm "
    "__cluster_dims__");

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

class FunctionFinder {
 public:
  FunctionFinder(const Source& source, const MacroTable& macros)
      : source_(source), macros_(macros) {}

  std::vector<Function> run() {
    std::vector<std::string> spaces;  // one per open brace
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (source_[i].directive != 0) continue;
      if (source_.is(i, "{") && source_.partner(i) < source_.size()) {
        // Function bodies declare nothing of interest.
        if (source_.scope(i + 1) == Scope::kFunction)
          i = source_.partner(i);
        else
          spaces.push_back(source_.name_of_namespace(i));
      } else if (source_.is(i, "}")) {
        if (!spaces.empty()) spaces.pop_back();
      } else if (declares(i)) {
        add(i, spaces);
      }
    }
    return std::move(functions_);
  }

 private:
  /// Whether token i may be the name of a function with its parameters behind it.
  [[nodiscard]] bool declares(std::size_t i) const {
    return source_[i].kind == Token::Kind::kIdentifier && source_.is(i + 1, "(") &&
           source_.partner(i + 1) < source_.size() && source_.scope(i) != Scope::kFunction &&
           !kClauses.contains(source_[i].text);
  }

  [[nodiscard]] std::size_t begin_of_declaration(std::size_t name) const {
    std::size_t begin = name;
    while (begin > 0) {
      const Token& before = source_[begin - 1];
      if (before.directive == 0 && (before.is(";") || before.is("{") || before.is("}"))) break;
      const bool label = before.is(":") && begin > 1 &&
                         (source_.is(begin - 2, "public") || source_.is(begin - 2, "private") ||
                          source_.is(begin - 2, "protected"));
      if (label) break;
      --begin;
    }
    while (begin < name && source_[begin].directive != 0) ++begin;
    return begin;
  }

  [[nodiscard]] std::size_t after_template_head(std::size_t i, std::size_t end) const {
    while (i < end && source_.is(i, "template") && source_.is(i + 1, "<")) {
      int depth = 0;
      for (++i; i < end; ++i) {
        if (source_.is(i, "(") && source_.partner(i) < end) i = source_.partner(i);
        if (source_.is(i, "<")) ++depth;
        if (source_.is(i, ">") && --depth == 0) break;
      }
      i = std::min(i + 1, end);
    }
    return i;
  }

  void add(std::size_t name, const std::vector<std::string>& spaces) {
    Function function;
    function.begin = begin_of_declaration(name);
    function.name = name;
    function.body = body_of(source_.partner(name + 1) + 1);
    function.head = after_template_head(function.begin, name);
    function.side = side_of(function.head, name);
    if (source_.scope(name) == Scope::kClass) function.side = Side::kOther;
    for (const std::string& space : spaces) function.space += space;
    source_.take_steps(spaces.size() + function.space.size());
    functions_.push_back(std::move(function));
  }

  /// The { behind the parameters, or size() for a declaration.
  [[nodiscard]] std::size_t body_of(std::size_t i) const {
    for (; i < source_.size() && source_[i].directive == 0; ++i) {
      if (source_.is(i, "{")) return i;
      if (source_.is(i, ";") || source_.is(i, "=") || source_.is(i, ":") || source_.is(i, ","))
        break;
      if (source_.is(i, "(") && source_.partner(i) < source_.size()) i = source_.partner(i);
    }
    return source_.size();
  }

  /// By what stands between the beginning, without the template's head, and the name.
  [[nodiscard]] Side side_of(std::size_t begin, std::size_t name) const {
    bool host = false;
    bool device = false;
    bool kernel = false;
    bool has_type = false;
    bool certain = true;
    for (std::size_t i = begin; i < name; ++i) {
      const Token& token = source_[i];
      if (token.directive != 0) {
        certain = false;  // a qualifier between #if and #endif
      } else if (token.is("__host__")) {
        host = true;
      } else if (token.is("__device__")) {
        device = true;
      } else if (token.is("__global__")) {
        kernel = true;
      } else if (kClauses.contains(token.text) && source_.is(i + 1, "(") &&
                 source_.partner(i + 1) < name) {
        if (token.is("operator")) return Side::kOther;
        i = source_.partner(i + 1);
      } else if (token.is("[") && source_.partner(i) < name) {
        i = source_.partner(i);  // [[attribute]]
      } else if (token.is("constexpr") || token.is("consteval") || token.is("friend") ||
                 token.is("using") || token.is("operator") || token.is("=") || token.is("(") ||
                 token.is(",") || token.is("concept") || token.is("typedef")) {
        if (!inside_angles(i, begin, name)) return Side::kOther;
      } else if (token.kind == Token::Kind::kIdentifier) {
        if (may_be_macro(token.text, macros_) && !inside_angles(i, begin, name)) certain = false;
        kernel |= writes(token.text, {"__global__"}, macros_);
        has_type = true;
      }
    }
    if (!has_type || source_.is(name - 1, "::")) return Side::kOther;
    if (kernel) return Side::kKernel;
    if (!certain || (host && device)) return Side::kOther;
    return device ? Side::kDevice : Side::kHost;
  }

  /// Whether token i is a template argument of the return type.
  [[nodiscard]] bool inside_angles(std::size_t i, std::size_t begin, std::size_t end) const {
    int depth = 0;
    for (std::size_t j = begin; j < i; ++j)
      depth += source_.is(j, "<") ? 1 : source_.is(j, ">") ? -1 : 0;
    return depth > 0 && i < end;
  }

  const Source& source_;
  const MacroTable& macros_;
  std::vector<Function> functions_;
};

class HostVariableFinder {
 public:
  HostVariableFinder(const Source& source, Names& names) : source_(source), names_(names) {}

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
           !source_.is(begin - 1, "}") && source_[begin - 1].directive == 0)
      --begin;
    return begin;
  }

  /// Whether the directive before the token may choose what belongs to its declaration.
  [[nodiscard]] bool follows_condition(std::size_t begin) const {
    static const Words others = words_of("include define undef pragma");
    if (begin == 0 || source_[begin - 1].directive == 0) return false;
    std::size_t first = begin - 1;
    while (first > 0 && source_[first - 1].directive == source_[begin - 1].directive) --first;
    return first + 1 >= begin || !others.contains(source_[first + 1].text);
  }

  /// Whether none of the words before the name may be, or hide, a qualifier of the device.
  [[nodiscard]] bool is_of_host(std::size_t begin, std::size_t name) const {
    static const Words others = words_of(
        "__device__ __constant__ __shared__ __managed__ __global__ constexpr consteval typedef "
        "using template operator friend struct class enum union namespace = ( extern concept "
        "auto thread_local return texture");
    if (begin >= name || follows_condition(begin)) return false;
    for (std::size_t i = begin; i < name; ++i) {
      if (others.contains(source_[i].text)) return false;
      if (source_[i].kind == Token::Kind::kIdentifier &&
          may_be_macro(source_[i].text, names_.macros))
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
    const bool is_array = source_.is(name + 1, "[");
    const bool is_constant = !before.is("*") && source_.has(begin, name, {"const"});
    if (is_constant && !is_array) return;
    const std::string text(source_[name].text);
    for (const std::string& each : {text, source_.space_of(name) + text}) {
      if (is_constant) names_.constant_arrays.insert(each);
      names_.host_variables.insert(each);
    }
  }

  const Source& source_;
  Names& names_;
};

}  // namespace

static void collect_macros(const Source& source, MacroTable& macros) {
  for (std::size_t i = 0; i + 2 < source.size(); ++i) {
    const int directive = source[i].directive;
    const bool begins = directive != 0 && (i == 0 || source[i - 1].directive != directive);
    if (!begins || !source.is(i, "#") || !source.is(i + 1, "define")) continue;
    const Token& name = source[i + 2];
    Macro macro;
    std::size_t j = i + 3;
    if (source.is(j, "(") && source[j].offset == name.end() && source.partner(j) < source.size()) {
      macro.takes_arguments = true;
      j = source.partner(j) + 1;
    }
    for (; j < source.size() && source[j].directive == directive; ++j)
      macro.replacement.emplace_back(source[j].text);
    macro.is_configuration = holds_configuration(macro.replacement);
    const auto [entry, added] = macros.emplace(name.text, macro);
    if (added) continue;
    // Elsewhere, for an editor that does not know CUDA, the macro is often empty.
    Macro& known = entry->second;
    known.is_configuration |= macro.is_configuration;
    known.takes_arguments |= macro.takes_arguments;
    known.replacement.insert(known.replacement.end(), macro.replacement.begin(),
                             macro.replacement.end());
  }
}

/// Sets what is true of a macro if it is true of one that its replacement names.
static void spread_to_users(MacroTable& macros, bool Macro::*property) {
  for (bool grows = true; grows;) {
    grows = false;
    for (auto& [name, macro] : macros)
      for (const std::string& word : macro.replacement) {
        const auto used = macros.find(word);
        if (!(macro.*property) && used != macros.end() && used->second.*property)
          grows = macro.*property = true;
      }
  }
}

/// Names the macro, and all that its replacement names.
static void note_use(std::string_view name, MacroTable& macros, std::set<std::string_view>& uses) {
  const auto macro = macros.find(name);
  if (macro == macros.end() || !uses.insert(macro->first).second) return;
  for (const std::string& word : macro->second.replacement) note_use(word, macros, uses);
}

/// Which macros write device code, and which stand in it. One that an #if names stays as it is: the
/// preprocessor knows no objects.
static void find_macros_of_device(const std::vector<Source*>& sources, MacroTable& macros) {
  for (auto& [name, macro] : macros)
    macro.writes_device_code = std::ranges::count(macro.replacement, "__device__") +
                                   std::ranges::count(macro.replacement, "__global__") >
                               0;
  spread_to_users(macros, &Macro::writes_device_code);
  std::set<std::string_view> used;
  std::set<std::string_view> asked;
  for (Source* source : sources) {
    source->find_device_code(macros);
    for (std::size_t i = 0; i < source->size(); ++i) {
      const Token& token = (*source)[i];
      if (token.kind != Token::Kind::kIdentifier) continue;
      if (source->may_be_device_code(i)) note_use(token.text, macros, used);
      const bool is_condition = token.is("if") || token.is("elif");
      if (token.directive == 0 || !is_condition || !source->is(i - 1, "#")) continue;
      for (std::size_t j = i; j < source->size() && (*source)[j].directive == token.directive; ++j)
        note_use((*source)[j].text, macros, asked);
    }
  }
  for (auto& [name, macro] : macros)
    macro.is_used_by_device = used.contains(name) && !asked.contains(name);
  for (Source* source : sources) source->mark_used_macros(macros);
}

/// Parameters of templates, and names that the file gives to whole numbers.
static void collect_cast_types(const Source& source, Names& names) {
  for (std::size_t i = 1; i + 2 < source.size(); ++i) {
    if (source[i].kind != Token::Kind::kIdentifier) continue;
    const bool is_parameter = source.is(i - 1, "typename") || source.is(i - 1, "class");
    const bool ends = source.is(i + 1, ",") || source.is(i + 1, ">") || source.is(i + 1, "=");
    std::size_t begin = i;
    if (source.is(i + 1, ";"))
      while (begin > 0 && kWholeNumbers.contains(source[begin - 1].text)) --begin;
    std::size_t end = i + 2;
    while (end < source.size() && kWholeNumbers.contains(source[end].text)) ++end;
    const bool is_alias =
        (begin < i && begin > 0 && source.is(begin - 1, "typedef")) ||
        (source.is(i - 1, "using") && source.is(i + 1, "=") && source.is(end, ";") && end > i + 2);
    if ((is_parameter && ends) || is_alias) names.cast_types.emplace(source[i].text);
  }
}

bool may_be_macro(std::string_view name, const MacroTable& macros) {
  const bool capitals = name.size() > 1 && std::ranges::none_of(name, [](char c) {
                          return std::islower(static_cast<unsigned char>(c)) != 0;
                        });
  return capitals || macros.contains(name);
}

std::vector<Function> find_functions(const Source& source, const MacroTable& macros) {
  return FunctionFinder(source, macros).run();
}

/// "const float * , int" of the parameters behind `open`: without names and default values.
static std::string types_behind(const Source& source, std::size_t open) {
  std::string types;
  bool in_default = false;
  for (std::size_t i = open + 1; i < source.partner(open) && i < source.size(); ++i) {
    in_default = !source.is(i, ",") && (in_default || source.is(i, "="));
    const bool ends = source.is(i + 1, ",") || source.is(i + 1, ")") || source.is(i + 1, "=") ||
                      source.is(i + 1, "[");
    const bool is_name = ends && i > open + 1 && !source.is(i - 1, ",") &&
                         !source.is(i - 1, "const") && !kWholeNumbers.contains(source[i].text) &&
                         source[i].kind == Token::Kind::kIdentifier;
    if (!in_default && !is_name && !source[i].text.starts_with("__restrict"))
      types += std::string(source[i].text) + " ";
  }
  return types;
}

static void collect_kernels(const Source& source, Names& names) {
  for (const Function& function : find_functions(source, names.macros)) {
    if (function.side != Side::kKernel) continue;
    Kernel kernel;
    kernel.types = types_behind(source, function.name + 1);
    kernel.parameters = source.text(function.name + 2, source.partner(function.name + 1));
    kernel.bodies = function.body < source.size() ? 1 : 0;
    kernel.default_arguments = has_default_argument(source, function.name + 1);
    if (function.head > function.begin)
      count_template_parameters(source, function.begin + 1, function.head - 1, kernel);
    const auto [entry, added] = names.kernels.emplace(source[function.name].text, kernel);
    if (added) continue;
    Kernel& known = entry->second;
    known.bodies += kernel.bodies;
    known.default_arguments = known.default_arguments || kernel.default_arguments;
    known.consistent = known.consistent && known.types == kernel.types &&
                       known.template_parameters == kernel.template_parameters;
    // Defaults stand in one declaration only.
    known.least_template_arguments =
        std::min(known.least_template_arguments, kernel.least_template_arguments);
  }
}

static void collect_functions(const Source& source, Names& names) {
  for (Function& function : find_functions(source, names.macros)) {
    const auto [entry, added] = names.functions.emplace(
        source[function.name].text, NamedFunction{function.side, function.space});
    NamedFunction& known = entry->second;
    if (added) continue;
    if (known.side != function.side || known.space != function.space) known.side = Side::kOther;
  }
  // A type or an alias of the name makes a call of it something else.
  static const Words introducers = words_of("struct class union enum using namespace");
  for (std::size_t i = 1; i < source.size(); ++i) {
    if (!introducers.contains(source[i - 1].text)) continue;
    names.functions[std::string(source[i].text)].side = Side::kOther;
  }
}

Names collect_names(const std::vector<Source*>& sources) {
  Names names;
  for (const Source* source : sources) collect_macros(*source, names.macros);
  find_macros_of_device(sources, names.macros);
  for (const Source* source : sources) {
    collect_cast_types(*source, names);
    collect_kernels(*source, names);
    collect_functions(*source, names);
    HostVariableFinder(*source, names).run();
    collect_shared_variables(*source, names);
  }
  return names;
}

}  // namespace convlab::rewrite
