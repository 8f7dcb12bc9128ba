#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace convlab::rewrite {

/// Words to look a token up in.
using Words = std::set<std::string_view>;

/// The words of a text that lives as long as the program.
Words words_of(std::string_view text);

struct Token {
  enum class Kind { kIdentifier, kNumber, kString, kCharacter, kPunctuation };

  Kind kind = Kind::kPunctuation;
  std::string_view text;
  std::size_t offset = 0;  ///< of the first character in the file
  std::size_t line = 1;
  int directive = 0;  ///< number of the preprocessor directive it stands in, 0 for none

  [[nodiscard]] std::size_t end() const { return offset + text.size(); }
  [[nodiscard]] bool is(std::string_view other) const { return text == other; }
};

/// Splits C++ source into tokens, without comments and white space. `::` and `->` are one token,
/// all other punctuation is single characters: `<<<` is three tokens side by side.
/// @param source  must outlive the tokens
std::vector<Token> tokenize(std::string_view source);

/// A file for whose rewriting kMostSteps are too few.
class TooManySteps : public std::runtime_error {
 public:
  TooManySteps()
      : std::runtime_error(
            "this file is too long or too deeply nested to be emulated: finding its kernels takes "
            "more than 50 million steps") {}
};

/// Where a token stands.
enum class Scope : unsigned char { kFile, kClass, kFunction };

/// A #define, or all of one name together.
struct Macro {
  bool takes_arguments = false;
  bool writes_device_code = false;  ///< __device__ or __global__, itself or by another macro
  bool is_used_by_device = false;   ///< its replacement may be device code
  std::vector<std::string> replacement;
  bool is_configuration = false;  ///< <<<…>>> in one of the definitions
};

using MacroTable = std::map<std::string, Macro, std::less<>>;

/// Whether the word is one of these, or a macro that writes one.
bool writes(std::string_view word, const Words& words, const MacroTable& macros);

/// The tokens of one file with what the rewrite needs to know about each.
class Source {
 public:
  explicit Source(std::string_view text);

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const Token& operator[](std::size_t i) const {
    take_steps(1);
    return tokens_[i];
  }
  [[nodiscard]] bool is(std::size_t i, std::string_view text) const {
    take_steps(1);
    return i < tokens_.size() && tokens_[i].is(text);
  }

  /// Whether one of these words stands among tokens [begin, end).
  [[nodiscard]] bool has(std::size_t begin, std::size_t end, const Words& words) const {
    for (std::size_t i = begin; i < end; ++i)
      if (words.contains((*this)[i].text)) return true;
    return false;
  }

  /// For a bracket ( [ {: the index of its partner, and the other way round; size() without one.
  [[nodiscard]] std::size_t partner(std::size_t i) const { return partners_[i]; }
  /// Whether token i is a bracket that has its partner.
  [[nodiscard]] bool opens(std::size_t i) const {
    return (is(i, "(") || is(i, "[") || is(i, "{")) && partner(i) < size();
  }
  [[nodiscard]] Scope scope(std::size_t i) const { return scopes_[i]; }
  /// The body of a function includes the text.
  void lies_in_function() { std::ranges::replace(scopes_, Scope::kFile, Scope::kFunction); }
  /// Whether the token lies in the body of a __global__ or __device__ function.
  [[nodiscard]] bool in_device_code(std::size_t i) const { return device_code_[i] == kCertain; }
  /// Also in a macro that device code uses, or in an argument of one that writes device code.
  [[nodiscard]] bool may_be_device_code(std::size_t i) const { return device_code_[i] != kNever; }
  /// Takes what macros write as if it stood where they are used.
  void find_device_code(const MacroTable& macros);
  /// Marks the replacements of the macros that device code uses.
  void mark_used_macros(const MacroTable& macros);

  /// Whether tokens i, i+1, i+2 are the same character, as in <<<. Formatters that do not know CUDA
  /// write << <, which nvcc takes.
  [[nodiscard]] bool is_triple(std::size_t i, char c) const;
  /// Whether a macro's replacement begins at token i.
  [[nodiscard]] bool begins_replacement(std::size_t i) const;
  /// The < that the > at i closes, or size().
  [[nodiscard]] std::size_t opening_angle(std::size_t i) const;
  /// Whether the token stands in parentheses or square brackets, outside of inner braces too.
  [[nodiscard]] bool in_parentheses(std::size_t i) const { return in_parentheses_[i]; }
  /// "name::" if a named namespace opens with the brace, else nothing.
  [[nodiscard]] std::string name_of_namespace(std::size_t brace) const;
  /// The named namespaces around token i, as NamedFunction::space has them.
  [[nodiscard]] std::string space_of(std::size_t i) const;
  /// Counts what is done with the file, against hostile ones: many searches begin at each of its
  /// names. A thousand lines need about 200 000 steps. @throws TooManySteps
  void take_steps(std::size_t count) const {
    constexpr std::size_t kMostSteps = 50'000'000;
    steps_ += count;
    if (steps_ > kMostSteps) throw TooManySteps();
  }
  /// Tokens [begin, end) as one line of text.
  [[nodiscard]] std::string text(std::size_t begin, std::size_t end) const;

 private:
  enum Certainty : unsigned char { kNever, kPossible, kCertain };

  void match_brackets();
  void find_scopes();
  std::size_t body_behind(std::size_t i, std::size_t& initialisers) const;
  void mark(std::size_t begin, std::size_t end, Certainty certainty);
  void find_parentheses();
  [[nodiscard]] Scope scope_of_brace(std::size_t brace) const;

  std::vector<Token> tokens_;
  std::vector<std::size_t> partners_;
  std::vector<Scope> scopes_;
  std::vector<Certainty> device_code_;
  std::vector<bool> in_parentheses_;
  mutable std::size_t steps_ = 0;
};

/// Words of whole numbers, of which several make one type; and const.
extern const Words kWholeNumbers;

/// Words behind which an expression or a statement begins, as `return`, `if` or `else`.
bool is_keyword(std::string_view text);

/// What the declarations of a __global__ function tell.
struct Kernel {
  int template_parameters = 0;       ///< 0 for an ordinary function
  int least_template_arguments = 0;  ///< the other parameters are values with defaults
  bool parameter_pack = false;
  bool default_arguments = false;
  int bodies = 0;            ///< more than one: overloads or several namespaces
  bool consistent = true;    ///< all declarations have the same template parameters and types
  std::string types{};       ///< of its parameters, as far as their words tell
  std::string parameters{};  ///< as they are written, without parentheses
};

using KernelTable = std::map<std::string, Kernel, std::less<>>;

/// Where a function runs, by its qualifiers. kOther: both, constexpr, a member, or not certain.
enum class Side : unsigned char { kHost, kDevice, kKernel, kOther };

/// A function declared outside of other functions.
struct Function {
  std::size_t begin = 0;  ///< first token of its declaration, `template` included
  std::size_t head = 0;   ///< first token behind `template <…>`
  std::size_t name = 0;
  std::size_t body = 0;  ///< its {, or the number of tokens without a body
  Side side = Side::kOther;
  std::string space;  ///< the namespaces around it, "a::b::"
};

/// The properties that all declarations of one name share.
struct NamedFunction {
  Side side = Side::kOther;
  std::string space;
};

/// CAPITALS are macros by custom; they may come from a header that is not read.
bool may_be_macro(std::string_view name, const MacroTable& macros);

/// The functions that the file declares, outside of each other.
std::vector<Function> find_functions(const Source& source, const MacroTable& macros);

using FunctionTable = std::map<std::string, NamedFunction, std::less<>>;

/// __shared__ variables outside of functions, with what declares them in a function that uses them.
using SharedVariableTable = std::map<std::string, std::string, std::less<>>;

/// The names that a source and its includes declare.
struct Names {
  KernelTable kernels;
  MacroTable macros;
  FunctionTable functions;
  /// Variables at namespace scope without a qualifier of the device that are no constants; none
  /// where a qualifier may hide.
  std::set<std::string, std::less<>> host_variables;
  std::set<std::string, std::less<>> constant_arrays;  ///< those that are arrays of constants
  SharedVariableTable shared_variables;
  /// What casts may name and may be a whole number: parameters of templates, other names of types.
  std::set<std::string, std::less<>> cast_types;
};

/// Of these sources together: a qualifier may hide in a macro of another one.
Names collect_names(const std::vector<Source*>& sources);

/// Adds the __shared__ variables that stand outside of functions.
void collect_shared_variables(const Source& source, Names& names);

/// Something that device emulation cannot run, or that nvcc would refuse.
struct Diagnostic {
  std::size_t line;
  std::string message;
  bool is_warning = false;  ///< nvcc refuses it, emulation runs it
};

/// What nvcc refuses: calls across the border between host and device, a kernel without a
/// configuration, a variable or a class of the host in device code. Silent wherever a name may mean
/// something else.
std::vector<Diagnostic> find_wrong_calls(const Source& source, const Names& names);

}  // namespace convlab::rewrite
