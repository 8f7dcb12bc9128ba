// Checks which functions call which: host code must not call device functions, and vice versa.
//
// Idea     nvcc lets a function run on the host, on the device or on both, by its qualifiers; the
//          host compiler that emulation uses knows no such border. This check finds wrong calls in
//          the tokens, by name. It is silent unless all declarations of the name agree and the
//          calling function declares nothing of that name.
// Limits   Members, overloads with different qualifiers, constexpr functions (which nvcc's
//          --expt-relaxed-constexpr allows), qualified names, code between #if and #endif and
//          functions whose qualifiers may hide in a macro are left to nvcc.
#include <algorithm>
#include <cctype>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::rewrite {
namespace {

/// After these words an expression may begin, so that a name and a parenthesis are a call.
const Words kBeforeExpression = words_of(
    "return else do case co_return co_yield throw and or not co_await xor bitand bitor not_eq "
    "constexpr goto delete");

/// Functions that CUDA has for the device under a name that a program may give its own function.
bool is_device_library(std::string_view name) {
  static const Words names = words_of(
      "abs acos acosh asin asinh assert atan atan2 atanh cbrt ceil clock clock64 copysign cos "
      "cosh erf erfc exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod free frexp "
      "hypot ilogb isfinite isinf isnan labs ldexp lgamma llabs llmax llmin llrint llround log "
      "log10 log1p log2 logb lrint lround malloc max memcpy memmove memset min modf mul24 mulhi "
      "nan nearbyint nextafter norm normcdf pow printf remainder remquo rint round rsqrt "
      "saturate scalbn signbit sin sincos sinh sqrt tan tanh tgamma trunc ullmax ullmin umax "
      "umin y0 j0 swap clamp rhypot erfcx erfinv erfcinv normcdfinv");
  if (name.starts_with("__") || name.starts_with("make_") || name.starts_with("atomic"))
    return true;
  return names.contains(name) ||
         (name.ends_with('f') && names.contains(name.substr(0, name.size() - 1)));
}

/// Algorithms that `using namespace std` puts beside a program's own functions and kernels.
const Words kAlgorithms = words_of(
    "accumulate advance all_of any_of begin clamp copy copy_n count count_if data distance end "
    "equal exchange fill fill_n find find_if for_each forward generate get inner_product iota "
    "lerp lower_bound merge midpoint move none_of partial_sum partition reduce remove replace "
    "reverse rotate search shuffle size sort swap transform unique upper_bound");

/// Functions of the C library that no kernel can call.
const Words kHostLibrary = words_of(
    "abort calloc exit fclose fflush fopen fprintf fputs fread fwrite getenv gettimeofday "
    "putchar puts qsort rand realloc scanf sleep srand system clock_gettime usleep");

/// Classes of the standard library that own memory, threads or files.
const Words kClasses = words_of(
    "vector string map set list deque queue stack multimap thread unordered_map unordered_set "
    "unique_ptr shared_ptr stringstream mutex function ostringstream ofstream ifstream "
    "forward_list endl");

/// What CUDA's runtime has for kernels, too, and is emulated.
const Words kEmulatedInKernels =
    words_of("cudaGridDependencySynchronize cudaTriggerProgrammaticLaunchCompletion");

bool is_runtime_api(std::string_view name) {
  return name.size() > 4 && name.starts_with("cuda") &&
         std::isupper(static_cast<unsigned char>(name[4])) != 0;
}

class CallChecker {
 public:
  CallChecker(const Source& source, const Names& names) : source_(source), names_(names) {}

  std::vector<Diagnostic> run() {
    find_conditional_code();
    for (std::size_t i = 2; i < source_.size(); ++i)
      uses_std_ = uses_std_ || (source_.is(i, "std") && source_.is(i - 1, "namespace") &&
                                source_.is(i - 2, "using"));
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (source_.is(i, "__global__")) check_kernel(i);
      if (source_.is_triple(i, '<') && i > 1) check_launch(i - 1);
    }
    for (const Function& function : find_functions(source_, names_.macros))
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
    static const Words types = words_of("int float double bool char long unsigned short size_t");
    if (source_[keyword].directive != 0 || conditional_[keyword] || keyword + 1 >= source_.size())
      return;
    if (types.contains(source_[keyword + 1].text))
      complain(keyword, "a kernel must return void: it gives results by pointers");
    if (source_.scope(keyword) != Scope::kClass) return;
    for (std::size_t i = keyword; i > 0 && !source_.is(i, ";") && !source_.is(i, "{"); --i)
      if (source_.is(i, "friend")) return;
    complain(keyword,
             "a kernel cannot be a member of a class: put it outside, and what it needs of "
             "the class into its parameters");
  }

  /// A launch of what is declared as a function of the host or of the device.
  void check_launch(std::size_t i) {
    if (is_member_or_qualified(i) || conditional_[i] || source_[i].directive != 0) return;
    const auto found = names_.functions.find(source_[i].text);
    if (found == names_.functions.end() || names_.macros.contains(source_[i].text) ||
        (found->second.side != Side::kHost && found->second.side != Side::kDevice))
      return;
    // A parameter or a local variable may have the name, too.
    for (std::size_t j = i; j-- > 1 && source_.scope(j) != Scope::kFile;)
      if (source_.is(j, source_[i].text) && is_declared(j)) return;
    const std::string name(source_[i].text);
    complain(i, name + " is launched as a kernel but is none: write __global__ " +
                    (found->second.side == Side::kDevice ? "in place of __device__" : "before it"));
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
      else if (!lambda && !source_.may_be_device_code(i))
        check_in_host_code(i, caller, end);
    }
  }

  void check_in_device_code(std::size_t i, const Function& caller, std::size_t end) {
    const std::string_view name = source_[i].text;
    if (is_stream_of_host(i))
      return complain(i, "std::" + std::string(name) + " in " + describe(caller) +
                             ": only the host has it; a kernel prints with printf");
    if (name == "throw" || name == "try")
      return complain(i, "exceptions in " + describe(caller) + ": device code has none");
    if (const std::string_view size = size_at_run_time(i, caller); !size.empty())
      return complain(i,
                      "the size of the array " + std::string(name) + " is " + std::string(size) +
                          ", which is known only at run time: make it a constant, or take `extern "
                          "__shared__` and the third argument of the launch");
    if (kClasses.contains(name) && source_.is(i - 1, "::") && source_.is(i - 2, "std"))
      return complain(i, "std::" + std::string(name) + " in " + describe(caller) +
                             ": only the host has it; device code takes pointers and arrays");
    const std::string full = with_qualifiers(i);
    if (names_.host_variables.contains(full) && !names_.functions.contains(name) &&
        !names_.macros.contains(name) && !is_declared(i) && !is_unevaluated(i) &&
        (full != name || !is_shadowed(i, caller, end))) {
      complain(i, "the variable " + full + " of the host in " + describe(caller) +
                      ": hand it over as an argument, or make it __constant__, __device__ or "
                      "constexpr");
      if (names_.constant_arrays.contains(full)) {
        diagnostics_.back().is_warning = true;
        diagnostics_.back().message += " (nvcc 13 refuses it, emulation runs it)";
      }
      return;
    }
    const bool library = is_runtime_api(name) || kHostLibrary.contains(name);
    if (library && !names_.functions.contains(name) && !names_.macros.contains(name)) {
      if (!is_call(i, false) || is_shadowed(i, caller, end) || kEmulatedInKernels.contains(name))
        return;
      complain(i, "calling " + std::string(name) + " from " + describe(caller) +
                      (is_runtime_api(name)
                           ? " is refused: only the host can call CUDA's runtime here (a GPU has a "
                             "few of its functions for kernels). Let the host do so, or put the "
                             "call between #if !CONVLAB_EMULATED and #endif"
                           : " is not allowed: it is a function of the host"));
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
    if (source_.is(i, "__shared__"))
      return complain(i, "a __shared__ variable in " + describe(caller) +
                             " is not allowed: kernels and __device__ functions have them");
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

  /// For the name of an array that is declared here with a variable as its size: that variable.
  [[nodiscard]] std::string_view size_at_run_time(std::size_t i, const Function& caller) const {
    const bool typed = source_[i - 1].kind == Token::Kind::kIdentifier || closes_template(i - 1);
    if (!source_.is(i + 1, "[") || !source_.opens(i + 1) || !typed || !is_declared(i)) return {};
    // `new float[n]`, `new (buffer) long long[n]`: the last word of a type, and any size.
    for (std::size_t j = i; j > 0 && (source_[j].kind == Token::Kind::kIdentifier ||
                                      source_.is(j, "::") || source_.is(j, "("));) {
      --j;
      if (source_.is(j, ")") && source_.partner(j) < j) j = source_.partner(j);
      if (source_.is(j, "new")) return {};
    }
    for (std::size_t j = i + 2; j < source_.partner(i + 1); ++j)
      if (source_[j].kind == Token::Kind::kIdentifier && !is_member_or_qualified(j) &&
          !source_.is(j + 1, "::") && !is_unevaluated(j) && is_variable(source_[j].text, i, caller))
        return source_[j].text;
    return {};
  }

  /// Whether a > ends a type, not a comparison: `vec<int> a[n]`, but `a < n && b > a[n]`.
  [[nodiscard]] bool closes_template(std::size_t i) const {
    if (!source_.is(i, ">")) return false;
    for (int depth = 0; i > 0; --i) {
      depth += source_.is(i, ">") ? 1 : source_.is(i, "<") ? -1 : 0;
      if (depth == 0) return begins_statement(i - 1);
      if (source_.opens(i) || source_.is(i, ";") || source_.is(i, "|") || source_.is(i, "&")) break;
    }
    return false;
  }

  /// Whether the name is a parameter of the function, or a local variable that is no constant.
  [[nodiscard]] bool is_variable(std::string_view name, std::size_t use,
                                 const Function& caller) const {
    // An object of a class may convert to a constant.
    static const Words integers =
        words_of("int unsigned long short size_t int32_t uint32_t int64_t");
    const std::size_t parameters = source_.partner(caller.name + 1);
    for (std::size_t i = use; i-- > caller.name + 2;) {
      if (!source_.is(i, name) || is_member_or_qualified(i) || !is_declared(i)) continue;
      if (!integers.contains(source_[i - 1].text)) return false;
      if (i < parameters) return true;
      for (std::size_t j = i; j > parameters && !source_.is(j, ";") && !source_.is(j, "{") &&
                              !source_.is(j, "}") && !source_.is(j, "(");
           --j)
        if (source_.is(j, "const") || source_.is(j, "constexpr") || source_.is(j, "enum") ||
            source_.is(j, "template"))
          return false;
      return true;
    }
    return false;
  }

  /// The side of the function that an unqualified name means here, kOther if that is not certain.
  [[nodiscard]] Side side_of(std::size_t i, const Function& caller) const {
    const std::string_view name = source_[i].text;
    const auto found = names_.functions.find(name);
    if (found == names_.functions.end() || is_device_library(name) ||
        names_.macros.contains(name) || (uses_std_ && kAlgorithms.contains(name)) ||
        !caller.space.starts_with(found->second.space))
      return Side::kOther;
    return found->second.side;
  }

  /// Whether `name(` at i, or `name<` for a template, is a call and no declaration.
  [[nodiscard]] bool is_call(std::size_t i, bool of_template) const {
    if (!source_.is(i + 1, "(") && !(of_template && source_.is(i + 1, "<"))) return false;
    return !is_member_or_qualified(i) && !is_declared(i) && !is_unevaluated(i);
  }

  /// "space::name"; empty for a member.
  [[nodiscard]] std::string with_qualifiers(std::size_t i) const {
    if (source_.is(i - 1, ".") || source_.is(i - 1, "->")) return {};
    std::string name(source_[i].text);
    for (; i > 1 && source_.is(i - 1, "::") && source_[i - 2].kind == Token::Kind::kIdentifier;
         i -= 2)
      name.insert(0, std::string(source_[i - 2].text) + "::");
    return source_.is(i - 1, "::") ? std::string() : name;
  }

  [[nodiscard]] bool is_member_or_qualified(std::size_t i) const {
    return source_.is(i - 1, ".") || source_.is(i - 1, "->") || source_.is(i - 1, "::");
  }

  /// Whether what stands before the name looks like a type.
  [[nodiscard]] bool is_declared(std::size_t i) const {
    const Token& before = source_[i - 1];
    if (before.directive != source_[i].directive) return false;
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
    static const Words words =
        words_of("decltype sizeof noexcept static_assert requires constexpr");
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
      return may_be_macro(source_[i].text, names_.macros);
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
  const Names& names_;
  std::vector<bool> conditional_;
  bool uses_std_ = false;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> find_wrong_calls(const Source& source, const Names& names) {
  return CallChecker(source, names).run();
}

}  // namespace convlab::rewrite
