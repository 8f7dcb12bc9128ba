#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/ptx/translate.hpp"
#include "common/emulation/rewrite/source.hpp"

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

  /// A line end, #line and white space, so that what stands at `offset` keeps its line and column
  /// for the compiler. Nothing where that may be inside of a macro. @param token  on the same line
  [[nodiscard]] std::string anchor(std::size_t token, std::size_t offset) const;

  /// The file with all changes. Where two overlap, the one that begins first counts. Errors are in
  /// the order of lines.
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

/// A file that is being rewritten.
struct File {
  const Source& source;
  const Names& names;  ///< of this file and of all that it includes
  Editor& editor;
};

using ptx::joined;

/// As a literal of C++.
std::string string_literal(std::string_view text);

/// kernel<<<blocks, threads>>>(arguments), and kernel CONFIGURATION(blocks, threads)(arguments)
/// where that is a macro which holds <<<…>>>. Of (void*)kernel and reinterpret_cast<void*>(kernel),
/// also with const, it is noted what the kernel takes, where its name still stands there.
void rewrite_launches(const File& file);

/// Turns __shared__ variables into references to the block's memory; those outside of functions are
/// declared where a function that uses them begins. Registers variables of the device.
void rewrite_variables(const File& file);

/// Gives casts to whole numbers and shifts in device code the values of a GPU.
void rewrite_conversions(const File& file);

/// Tells the runtime of elements of a thread's own arrays (own_arrays.cpp), and whether the
/// compiler knows their indices.
void rewrite_own_arrays(const File& file);

/// An #include "name" that the caller wants to point elsewhere.
struct Include {
  std::string name;
  std::string target;
};

/// Turns CUDA's extensions into C++ against the headers in common/emulation/include, and refuses
/// what cannot be emulated and what nvcc would refuse. For the compiler everything stays in its
/// line, and mostly in its column.
/// @param names     of this file and of all that it includes
/// @param includes  quoted includes to replace
/// @param traced    for a program whose accesses are observed
Rewritten rewrite(std::string_view text, const Source& source, const Names& names,
                  const std::vector<Include>& includes = {}, bool traced = false);

/// Whether the source may access 16 bytes at once: with float4 and its kin, with tensor cores, with
/// types of an alignment that it chooses, or in assembly.
bool has_wide_accesses(const Source& source);

/// Names in the file's #include "…" and #include <…> directives, in order.
std::vector<std::string> included_names(const Source& source, bool in_functions = false);

struct ProjectOptions {
  std::filesystem::path source;
  std::filesystem::path output;                        ///< the rewritten source
  std::vector<std::filesystem::path> include_folders;  ///< where quoted includes are looked for
  std::filesystem::path excluded_folder;               ///< headers below it stay as they are
  bool traced = false;                                 ///< accesses will be observed
};

struct ProjectResult {
  std::vector<std::filesystem::path> inputs;  ///< everything that was read
  std::vector<std::string> errors;            ///< "file:line: error: …"
  std::vector<std::string> warnings;          ///< "file:line: warning: …"
};

/// Rewrites a source with the project headers that it includes in quotes. A header in which nothing
/// changes is left where it is; the others are written next to the output.
/// @throws std::runtime_error when a file cannot be read or written
ProjectResult rewrite_project(const ProjectOptions& options);

}  // namespace convlab::rewrite
