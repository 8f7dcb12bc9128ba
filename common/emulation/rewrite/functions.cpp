// Checks which functions call which: host code must not call device functions, and vice versa.
//
// Idea     nvcc lets a function run on the host, on the device or on both, by its qualifiers; the
//          host compiler that emulation uses knows no such border. This check finds wrong calls in
//          the tokens, by name. It is silent unless all declarations of the name agree and the
//          calling function declares nothing of that name.
// Limits   Members, overloads with different qualifiers, constexpr functions (which nvcc's
//          --expt-relaxed-constexpr allows), qualified names, code between #if and #endif and
//          functions whose qualifiers may hide in a macro are left to nvcc.

#include "common/emulation/rewrite/functions.hpp"

#include <algorithm>
#include <cctype>

namespace convlab::rewrite {
namespace {

/// Identifiers that stand before a parenthesis and declare nothing.
const Words kClauses = {
    "__attribute__", "__launch_bounds__", "__align__", "alignas",    "decltype",    "noexcept",
    "static_assert", "requires",          "explicit",  "__declspec", "__maxnreg__", "operator",
    "typeof",        "__typeof__",        "sizeof",    "throw",      "asm"};

/// After these words an expression may begin, so that a name and a parenthesis are a call.
const Words kBeforeExpression = {"return", "else",  "do",     "case",      "co_return", "co_yield",
                                 "throw",  "and",   "or",     "not",       "co_await",  "xor",
                                 "bitand", "bitor", "not_eq", "constexpr", "goto"};

/// Functions that CUDA has for the device under a name that a program may give its own function.
bool is_device_library(std::string_view name) {
  static const Words names = {
      "abs",       "acos",   "acosh",   "asin",     "asinh",  "assert",    "atan",
      "atan2",     "atanh",  "cbrt",    "ceil",     "clock",  "clock64",   "copysign",
      "cos",       "cosh",   "erf",     "erfc",     "exp",    "exp10",     "exp2",
      "expm1",     "fabs",   "fdim",    "fdivide",  "floor",  "fma",       "fmax",
      "fmin",      "fmod",   "free",    "frexp",    "hypot",  "ilogb",     "isfinite",
      "isinf",     "isnan",  "labs",    "ldexp",    "lgamma", "llabs",     "llmax",
      "llmin",     "llrint", "llround", "log",      "log10",  "log1p",     "log2",
      "logb",      "lrint",  "lround",  "malloc",   "max",    "memcpy",    "memmove",
      "memset",    "min",    "modf",    "mul24",    "mulhi",  "nan",       "nearbyint",
      "nextafter", "norm",   "normcdf", "pow",      "printf", "remainder", "remquo",
      "rint",      "round",  "rsqrt",   "saturate", "scalbn", "signbit",   "sin",
      "sincos",    "sinh",   "sqrt",    "tan",      "tanh",   "tgamma",    "trunc",
      "ullmax",    "ullmin", "umax",    "umin",     "y0",     "j0",        "swap",
      "clamp"};
  if (name.starts_with("__") || name.starts_with("make_") || name.starts_with("atomic"))
    return true;
  return names.contains(name) ||
         (name.ends_with('f') && names.contains(name.substr(0, name.size() - 1)));
}

/// Algorithms that `using namespace std` puts beside a program's own functions and kernels.
const Words kAlgorithms = {
    "accumulate", "advance",     "all_of",      "any_of",     "begin",    "clamp",
    "copy",       "copy_n",      "count",       "count_if",   "data",     "distance",
    "end",        "equal",       "exchange",    "fill",       "fill_n",   "find",
    "find_if",    "for_each",    "forward",     "generate",   "get",      "inner_product",
    "iota",       "lerp",        "lower_bound", "merge",      "midpoint", "move",
    "none_of",    "partial_sum", "partition",   "reduce",     "remove",   "replace",
    "reverse",    "rotate",      "search",      "shuffle",    "size",     "sort",
    "swap",       "transform",   "unique",      "upper_bound"};

/// Functions of the C library that no kernel can call.
const Words kHostLibrary = {
    "abort",   "calloc", "exit",   "fclose",       "fflush",  "fopen",         "fprintf", "fputs",
    "fread",   "fwrite", "getenv", "gettimeofday", "putchar", "puts",          "qsort",   "rand",
    "realloc", "scanf",  "sleep",  "srand",        "system",  "clock_gettime", "usleep"};

bool is_runtime_api(std::string_view name) {
  return name.size() > 4 && name.starts_with("cuda") &&
         std::isupper(static_cast<unsigned char>(name[4])) != 0;
}

/// CAPITALS are macros by custom; they may come from a header that is not read.
bool may_be_macro(std::string_view name, const MacroTable& macros) {
  const bool capitals = name.size() > 1 && std::ranges::none_of(name, [](char c) {
                          return std::islower(static_cast<unsigned char>(c)) != 0;
                        });
  return capitals || macros.contains(name);
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
          spaces.push_back(name_of_namespace(i));
      } else if (source_.is(i, "}")) {
        if (!spaces.empty()) spaces.pop_back();
      } else if (declares(i)) {
        add(i, spaces);
      }
    }
    return std::move(functions_);
  }

 private:
  [[nodiscard]] std::string name_of_namespace(std::size_t brace) const {
    std::string name;
    for (std::size_t i = brace; i-- > 0 && !source_.is(i, ";") && !source_.is(i, "{") &&
                                !source_.is(i, "}") && source_[i].directive == 0;) {
      if (source_.is(i, "namespace")) return name.empty() ? name : name + "::";
      name.insert(0, source_[i].text);
    }
    return {};
  }

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
    const std::size_t head = after_template_head(function.begin, name);
    function.side = side_of(head, name);
    if (source_.scope(name) == Scope::kClass) function.side = Side::kOther;
    for (const std::string& space : spaces) function.space += space;
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

class CallChecker {
 public:
  CallChecker(const Source& source, const MacroTable& macros, const FunctionTable& functions)
      : source_(source), macros_(macros), functions_(functions) {}

  std::vector<Diagnostic> run() {
    find_conditional_code();
    for (std::size_t i = 2; i < source_.size(); ++i)
      uses_std_ = uses_std_ || (source_.is(i, "std") && source_.is(i - 1, "namespace") &&
                                source_.is(i - 2, "using"));
    for (std::size_t i = 0; i < source_.size(); ++i)
      if (source_.is(i, "__global__")) check_kernel(i);
    for (const Function& function : FunctionFinder(source_, macros_).run())
      if (function.side != Side::kOther && function.body < source_.size()) check(function);
    return std::move(diagnostics_);
  }

 private:
  /// Marks what stands between #if and #endif; the guard around a whole header does not count.
  void find_conditional_code() {
    conditional_.assign(source_.size(), false);
    std::vector<bool> open;
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (source_.is(i, "#") && source_[i].directive != 0 && i + 1 < source_.size()) {
        const std::string_view word = source_[i + 1].text;
        if (word == "if" || word == "ifdef" || word == "ifndef")
          open.push_back(!(i == 0 && word == "ifndef"));
        else if (word == "endif" && !open.empty())
          open.pop_back();
      }
      conditional_[i] = std::ranges::find(open, true) != open.end();
    }
  }

  void check_kernel(std::size_t keyword) {
    static const Words types = {"int",  "float",    "double", "bool",  "char",
                                "long", "unsigned", "short",  "size_t"};
    if (source_[keyword].directive != 0 || conditional_[keyword] || keyword + 1 >= source_.size())
      return;
    if (types.contains(source_[keyword + 1].text))
      complain(keyword, "a kernel must return void: it gives results by pointers");
    for (std::size_t i = keyword; i < source_.size() && !source_.is(i, "{") && !source_.is(i, ";");
         ++i)
      if (source_.is(i, "&"))
        complain(i,
                 "a kernel cannot take a parameter by reference, which is an address of the "
                 "host: pass the value, without &");
    if (source_.scope(keyword) != Scope::kClass) return;
    for (std::size_t i = keyword; i > 0 && !source_.is(i, ";") && !source_.is(i, "{"); --i)
      if (source_.is(i, "friend")) return;
    complain(keyword,
             "a kernel cannot be a member of a class: put it outside, and what it needs of "
             "the class into its parameters");
  }

  void check(const Function& caller) {
    const std::size_t end = source_.partner(caller.body);
    if (end >= source_.size()) return;
    bool lambda = false;
    for (std::size_t i = caller.body + 1; i < end; ++i) {
      lambda = lambda || opens_lambda(i);
      if (source_[i].kind != Token::Kind::kIdentifier || source_[i].directive != 0 ||
          conditional_[i])
        continue;
      if (caller.side != Side::kHost)
        check_in_device_code(i, caller, end);
      else if (!lambda && !source_.in_device_code(i))
        check_in_host_code(i, caller, end);
    }
  }

  void check_in_device_code(std::size_t i, const Function& caller, std::size_t end) {
    const std::string_view name = source_[i].text;
    if (is_stream_of_host(i)) {
      complain(i, "std::" + std::string(name) + " in " + describe(caller) +
                      ": only the host has it; a kernel prints with printf");
      return;
    }
    const bool library = is_runtime_api(name) || kHostLibrary.contains(name);
    if (library && !functions_.contains(name) && !macros_.contains(name)) {
      if (is_call(i, false) && !is_shadowed(i, caller, end))
        complain(i, "calling " + std::string(name) + " from " + describe(caller) +
                        " is not allowed: it is a function of the host");
      return;
    }
    const Side side = side_of(i, caller);
    if (side == Side::kHost && is_call(i, true) && !is_shadowed(i, caller, end))
      complain(i, "calling the __host__ function " + std::string(name) + " from " +
                      describe(caller) + " is not allowed: write __device__ before " +
                      std::string(name) + ", or __host__ __device__ if the host calls it too");
    else if (side == Side::kKernel && is_call(i, false) && !is_shadowed(i, caller, end))
      complain(i, "calling the kernel " + std::string(name) + " from " + describe(caller) +
                      " is not allowed: what kernels share belongs into a __device__ function");
  }

  void check_in_host_code(std::size_t i, const Function& caller, std::size_t end) {
    if (source_.is(i, "__shared__")) {
      complain(i, "a __shared__ variable in " + describe(caller) +
                      " is not allowed: kernels and __device__ functions have them");
      return;
    }
    const std::string name(source_[i].text);
    const Side side = side_of(i, caller);
    if (side == Side::kKernel && is_call(i, false) && !is_shadowed(i, caller, end))
      complain(
          i, "a kernel called without a configuration: write " + name + "<<<blocks, threads>>>(…)");
    else if (side == Side::kDevice && is_call(i, true) && !is_shadowed(i, caller, end))
      complain(i, "calling the __device__ function " + name + " from " + describe(caller) +
                      " is not allowed: write __host__ __device__ before " + name +
                      ", or call it in a kernel");
  }

  [[nodiscard]] bool is_stream_of_host(std::size_t i) const {
    return i >= 2 && source_.is(i - 1, "::") && source_.is(i - 2, "std") &&
           (source_.is(i, "cout") || source_.is(i, "cerr"));
  }

  /// The side of the function that an unqualified name means here, kOther if that is not certain.
  [[nodiscard]] Side side_of(std::size_t i, const Function& caller) const {
    const std::string_view name = source_[i].text;
    const auto found = functions_.find(name);
    if (found == functions_.end() || is_device_library(name) || macros_.contains(name) ||
        (uses_std_ && kAlgorithms.contains(name)) || !caller.space.starts_with(found->second.space))
      return Side::kOther;
    return found->second.side;
  }

  /// Whether `name(` at i, or `name<` for a template, is a call and no declaration.
  [[nodiscard]] bool is_call(std::size_t i, bool of_template) const {
    if (!source_.is(i + 1, "(") && !(of_template && source_.is(i + 1, "<"))) return false;
    return !is_member_or_qualified(i) && !is_declared(i) && !is_unevaluated(i);
  }

  [[nodiscard]] bool is_member_or_qualified(std::size_t i) const {
    return source_.is(i - 1, ".") || source_.is(i - 1, "->") || source_.is(i - 1, "::");
  }

  /// Whether what stands before the name looks like a type.
  [[nodiscard]] bool is_declared(std::size_t i) const {
    const Token& before = source_[i - 1];
    if (before.kind == Token::Kind::kIdentifier) return !kBeforeExpression.contains(before.text);
    if (before.is(">") || before.is("]")) return true;
    if (!before.is("*") && !before.is("&")) return false;
    const Token& type = source_[i - 2];
    return type.is("*") || type.is("&") || type.is(">") ||
           (type.kind == Token::Kind::kIdentifier && begins_statement(i - 2));
  }

  /// Whether a type that ends at i could begin a declaration there: `const a::b* name`.
  [[nodiscard]] bool begins_statement(std::size_t i) const {
    while (i > 0 && (source_[i].kind == Token::Kind::kIdentifier || source_.is(i, "::"))) --i;
    return source_.is(i, ";") || source_.is(i, "{") || source_.is(i, "}") || source_.is(i, "(") ||
           source_.is(i, ",");
  }

  [[nodiscard]] bool is_unevaluated(std::size_t i) const {
    static const Words words = {"decltype",      "sizeof",   "noexcept",
                                "static_assert", "requires", "constexpr"};
    for (; i > 0 && !source_.is(i, ";") && !source_.is(i, "{") && !source_.is(i, "}"); --i)
      if (words.contains(source_[i].text)) return true;
    return false;
  }

  /// Whether the calling function may use the name for something of its own.
  [[nodiscard]] bool is_shadowed(std::size_t use, const Function& caller, std::size_t end) const {
    const std::string_view name = source_[use].text;
    for (std::size_t i = caller.begin; i < end; ++i) {
      if (!source_.is(i, name) || i == 0 || is_member_or_qualified(i)) continue;
      const bool pointer =
          (source_.is(i - 1, "*") || source_.is(i - 1, "&")) && source_.is(i + 1, ")");
      const bool binding = pointer || source_.is(i + 1, "]") || source_.is(i + 1, "=");
      if (i != caller.name && (is_declared(i) || binding)) return true;
    }
    return false;
  }

  /// Also `MACRO(int i) {`, which may hide the [=] __device__ of a lambda.
  [[nodiscard]] bool opens_lambda(std::size_t i) const {
    if (source_.is(i + 1, "(") && source_.partner(i + 1) < source_.size() &&
        source_.is(source_.partner(i + 1) + 1, "{"))
      return may_be_macro(source_[i].text, macros_);
    if (!source_.is(i, "[")) return false;
    const Token& before = source_[i - 1];
    const bool subscript =
        before.is(")") || before.is("]") ||
        (before.kind == Token::Kind::kIdentifier && !kBeforeExpression.contains(before.text));
    return !subscript;
  }

  [[nodiscard]] std::string describe(const Function& function) const {
    const char* const qualifier = function.side == Side::kKernel   ? "__global__"
                                  : function.side == Side::kDevice ? "__device__"
                                                                   : "__host__";
    return std::string("the ") + qualifier + " function " +
           std::string(source_[function.name].text);
  }

  void complain(std::size_t i, std::string message) {
    diagnostics_.push_back({source_[i].line, std::move(message)});
  }

  const Source& source_;
  const MacroTable& macros_;
  const FunctionTable& functions_;
  std::vector<bool> conditional_;
  bool uses_std_ = false;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

void collect_functions(const Source& source, const MacroTable& macros, FunctionTable& functions) {
  for (Function& function : FunctionFinder(source, macros).run()) {
    const auto [entry, added] =
        functions.emplace(source[function.name].text, NamedFunction{function.side, function.space});
    NamedFunction& known = entry->second;
    if (added) continue;
    if (known.side != function.side || known.space != function.space) known.side = Side::kOther;
  }
  // A type or an alias of the name makes a call of it something else.
  static const Words introducers = {"struct", "class", "union", "enum", "using", "namespace"};
  for (std::size_t i = 1; i < source.size(); ++i) {
    if (!introducers.contains(source[i - 1].text)) continue;
    functions[std::string(source[i].text)].side = Side::kOther;
  }
}

std::vector<Diagnostic> find_wrong_calls(const Source& source, const MacroTable& macros,
                                         const FunctionTable& functions) {
  return CallChecker(source, macros, functions).run();
}

}  // namespace convlab::rewrite
