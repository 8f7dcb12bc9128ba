#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/serve/seen.hpp"

namespace convlab {

/// The number of a line, as messages tell it; 0 if it is none that a file can have.
[[nodiscard]] int line_number(const std::string& digits);

/// The sources of a milestone, to show a line and to find the names that a student chose. It looks
/// for words, not for grammar: what it does not find is an empty answer.
class SourceText {
 public:
  SourceText() = default;

  /// Skips what cannot be read.
  explicit SourceText(const std::vector<std::filesystem::path>& files);

  /// A line without white space around it, from 1; a line of more than 1000 bytes is cut, because
  /// nobody wrote it. @param file  its name without the folder
  [[nodiscard]] std::string line(const std::string& file, int number) const;

  /// What begins in a line, up to its end; without comments.
  [[nodiscard]] std::string statement(const std::string& file, int number,
                                      int most_lines = 4) const;

  /// All lines as they stand there; none if the file is not known.
  [[nodiscard]] std::vector<std::string> lines(const std::string& file) const;

  /// "    conv_forward.cu:44 | sum += …", a whole statement; empty if there is no such line.
  /// What does not fit stands below, under its beginning.
  [[nodiscard]] Seen quote(const std::string& file, int number) const;

  /// The same as text, with the line end behind it.
  [[nodiscard]] std::string quoted_line(const std::string& file, int number) const;

  /// The same as quote() for "conv_forward.cu:44".
  [[nodiscard]] Seen quote(const std::string& place) const;

  struct Parameter {
    std::string name{};
    std::size_t element_bytes = 4;
    bool is_reference = false;
  };
  /// A kernel's parameter, from 1; without a name if it is not found.
  [[nodiscard]] Parameter parameter(const std::string& kernel, int position) const;

  /// Of a variable in shared memory; 4 if the type is not known.
  [[nodiscard]] std::size_t shared_element_bytes(const std::string& variable) const;

  /// A place in a source.
  struct Place {
    std::string file{};
    int line = 0;  ///< 0: nowhere
  };
  /// All lines of a kernel's body in which one of these words stands.
  [[nodiscard]] std::vector<Place> lines_of_kernel(const std::string& kernel,
                                                   const std::vector<std::string>& words) const;

  /// The name of a kernel's dynamic shared memory, `extern __shared__ float tile[];`, or nothing.
  [[nodiscard]] std::string dynamic_shared(const std::string& kernel) const;

  /// The kernel whose body has this line, or nothing.
  [[nodiscard]] std::string kernel_around(const std::string& file, int number) const;

  /// The first 200 lines with every one of these words and none of those: a file may have a line
  /// a hundred thousand times, and who asks looks at each.
  [[nodiscard]] std::vector<Place> lines_with(const std::vector<std::string>& words,
                                              const std::vector<std::string>& without = {}) const;

  /// These lines, each as quote() shows it.
  [[nodiscard]] Seen quotes(const std::vector<std::string>& words,
                            const std::vector<std::string>& without = {}) const;

  /// Whether a word stands anywhere outside of comments.
  [[nodiscard]] bool has(const std::string& word) const { return !lines_with({word}).empty(); }

 private:
  struct Kernel {
    std::string file{};
    std::string head{};     ///< all that stands before the body
    std::size_t first = 0;  ///< indices of lines, the last one included
    std::size_t last = 0;
  };
  void find_kernels(const std::string& file);
  [[nodiscard]] const Kernel* find_kernel(const std::string& kernel) const;  ///< or null

  std::map<std::string, std::vector<std::string>> lines_{};  ///< by name of the file
  std::map<std::string, std::vector<std::string>> code_{};   ///< the same without comments
  std::vector<Kernel> kernels_{};                            ///< the first 200 of each file
};

}  // namespace convlab
