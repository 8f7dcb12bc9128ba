#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/lexer.hpp"

namespace convlab::rewrite {

/// Where a token stands.
enum class Scope : unsigned char { kFile, kClass, kFunction };

/// The tokens of one file with what the rewrite needs to know about each.
class Source {
 public:
  explicit Source(std::string_view text);

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] const Token& operator[](std::size_t i) const { return tokens_[i]; }
  [[nodiscard]] bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].is(text);
  }

  /// For a bracket ( [ {: the index of its partner, and the other way round; size() without one.
  [[nodiscard]] std::size_t partner(std::size_t i) const { return partners_[i]; }
  /// Whether token i is a bracket that has its partner.
  [[nodiscard]] bool opens(std::size_t i) const {
    return (is(i, "(") || is(i, "[") || is(i, "{")) && partner(i) < size();
  }
  [[nodiscard]] Scope scope(std::size_t i) const { return scopes_[i]; }
  /// Whether the token lies in the body of a __global__ or __device__ function.
  [[nodiscard]] bool in_device_code(std::size_t i) const { return device_code_[i]; }

  /// Whether tokens i, i+1, i+2 are the same character side by side, as in <<<.
  [[nodiscard]] bool is_triple(std::size_t i, char c) const;
  /// The < that the > at i closes, or size().
  [[nodiscard]] std::size_t opening_angle(std::size_t i) const;
  /// Whether the token stands in parentheses or square brackets, outside of inner braces too.
  [[nodiscard]] bool in_parentheses(std::size_t i) const { return in_parentheses_[i]; }
  /// Tokens [begin, end) as one line of text.
  [[nodiscard]] std::string text(std::size_t begin, std::size_t end) const;

 private:
  void match_brackets();
  void find_scopes();
  void find_device_code();
  void find_parentheses();
  [[nodiscard]] Scope scope_of_brace(std::size_t brace) const;

  std::vector<Token> tokens_;
  std::vector<std::size_t> partners_;
  std::vector<Scope> scopes_;
  std::vector<bool> device_code_;
  std::vector<bool> in_parentheses_;
};

/// Words behind which an expression or a statement begins, as `return`, `if` or `else`.
bool is_keyword(std::string_view text);

/// What the declarations of a __global__ function tell.
struct Kernel {
  int template_parameters = 0;       ///< 0 for an ordinary function
  int least_template_arguments = 0;  ///< the other parameters are values with defaults
  bool parameter_pack = false;
  bool default_arguments = false;
  int bodies = 0;          ///< more than one: overloads or several namespaces
  bool consistent = true;  ///< all declarations have the same template parameters
};

using KernelTable = std::map<std::string, Kernel, std::less<>>;

/// Adds the kernels that the file declares.
void collect_kernels(const Source& source, KernelTable& kernels);

}  // namespace convlab::rewrite
