#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/ptx/translate.hpp"
#include "common/emulation/rewrite/calls.hpp"

namespace convlab::rewrite {

/// The namespace of the functions that rewritten code calls.
inline constexpr std::string_view kRuntime = "::convlab::emulation::";

struct Rewritten {
  std::string text;  ///< with #line wherever something would leave its line or column
  bool changed = false;
  std::vector<Diagnostic> diagnostics;
};

/// Collects what is to change in a file and what is wrong with it.
class Editor {
 public:
  /// @param text  of the source; both must outlive this
  Editor(std::string_view text, const Source& source) : text_(text), source_(source) {}

  void insert(std::size_t offset, std::string text) {
    edits_.push_back({offset, 0, std::move(text)});
  }
  /// Replaces a token.
  void replace(std::size_t i, std::string text) {
    replace_range(source_[i].offset, source_[i].text.size(), std::move(text));
  }
  void replace_range(std::size_t offset, std::size_t length, std::string text) {
    edits_.push_back({offset, length, std::move(text)});
  }
  /// Replaces the characters by blanks; lines and tabs stay.
  void blank(std::size_t begin, std::size_t end);

  /// Reports an error in the line of token i.
  void complain(std::size_t i, std::string message) {
    diagnostics_.push_back({source_[i].line, std::move(message)});
  }
  void complain(Diagnostic diagnostic) { diagnostics_.push_back(std::move(diagnostic)); }

  /// A line end, #line and white space, so that what stands at `offset` in the file keeps its line
  /// and column for the compiler, whatever was inserted before. Nothing where that may be inside of
  /// a macro or its arguments. @param token  on the same line
  [[nodiscard]] std::string anchor(std::size_t token, std::size_t offset) const;

  /// The file with all changes. Where two overlap, the one that begins first counts.
  [[nodiscard]] Rewritten finish();

 private:
  struct Edit {
    std::size_t offset;
    std::size_t removed;
    std::string inserted;
  };

  std::string_view text_;
  const Source& source_;
  std::vector<Edit> edits_;
  std::vector<Diagnostic> diagnostics_;
};

/// __shared__ variables outside of functions, with what declares them in a function that uses them.
using SharedVariableTable = std::map<std::string, std::string, std::less<>>;

/// The names that a source and its includes declare.
struct Names {
  KernelTable kernels;
  MacroTable macros;
  FunctionTable functions;
  HostNames host;
  SharedVariableTable shared_variables;
};

/// A file that is being rewritten.
struct File {
  const Source& source;
  const Names& names;  ///< of this file and of all that it includes
  Editor& editor;
};

using ptx::joined;

/// As a literal of C++.
std::string string_literal(std::string_view text);

}  // namespace convlab::rewrite
