#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/emulation/rewrite/source.hpp"
#include "grader/checks/mend/copies.hpp"
#include "grader/checks/mend/expression.hpp"
#include "grader/checks/mend/outline.hpp"

namespace convlab::grader::mend {

/// A small change of a file: in each of some sites one of its alternatives.
struct Edit {
  std::set<std::size_t> lines{};
  Kind kind = Kind::kName;
  std::optional<Kind> further{};  ///< of a second change in the same statement
  std::string before{};           ///< one line of the file, and what becomes of it
  std::string after{};
  std::vector<std::pair<std::size_t, std::size_t>> choices{};  ///< site, number of the alternative
};

/// Instead of a statement that moves.
std::string moved_text(std::size_t line);

/// Without the blanks that splices leave.
std::string tidy(const std::string& text);

/// Which name stands for which other one in a part of the file that is written like another part.
using Twins = std::map<std::string, std::string, std::less<>>;
std::string renamed(const std::string& text, const Twins& twins);

/// A file, in which a number chooses among alternatives at run time.
class EditableFile {
 public:
  /// @param runs_kernels  of a .cu file: the program is built for the emulated device
  explicit EditableFile(const std::string& text, bool runs_kernels = false);

  /// Orders the edits, those first of whose kind there are few, and keeps one part of them.
  /// @param part  counts from 0; each has `most` edits but the last
  void keep_part(std::size_t part, std::size_t most);

  /// Leaves no edit but those of these that exchange two counters in an expression, each with one
  /// other size: what an index of another order needs.
  void add_second_changes(const std::vector<const Edit*>& firsts);

  /// Those whose alternatives all still exist.
  [[nodiscard]] std::vector<Edit> edits() const;

  /// The program's text: it includes common/custom_submission/mendable.hpp.
  [[nodiscard]] std::string text();

  /// Leaves out what stands in these lines of the last text(). False if there is nothing to leave
  /// out, so that the file cannot be edited.
  /// @param whole_sites  also all other alternatives there: of templates the compiler tells one
  ///                     error at a time
  bool drop_lines(const std::set<std::size_t>& lines, bool whole_sites = false);

 private:
  struct Alternative {
    std::string text{};
    bool dropped = false;
  };

  void find_changes(std::size_t site, const Names& names);
  std::size_t add(std::size_t site, std::string text);
  [[nodiscard]] std::string text_with(const Edit& edit) const;
  void exchange_with_next(std::size_t site);
  void add_everywhere();
  struct Pair;
  [[nodiscard]] std::vector<Pair> pairs() const;
  void add_twin(const Pair& pair, const Edit& single);
  void add_twins();
  void add_copies();
  void add_copy(const CopyChange& change);
  void write_copies(std::size_t site, std::string& out);
  void write_calls_of_copies(std::size_t body, std::string& out);
  [[nodiscard]] bool is_condition_of_preprocessor(std::size_t i) const;
  void write_macro(std::size_t site, std::string& out);
  [[nodiscard]] std::string without_includes(const std::string& text, std::string* includes) const;
  [[nodiscard]] bool knows_all_of(const Site& site, std::size_t place) const;
  [[nodiscard]] bool knows_names_in(const std::string& text, std::size_t site) const;
  [[nodiscard]] bool shares_memory(const Site& site) const;
  void add_used(const Site& site, Names& names) const;
  void add_declared(const Site& site, Names& names) const;
  [[nodiscard]] Names names_at(const Site& site) const;
  [[nodiscard]] std::size_t middle_of(const Site& site) const;
  [[nodiscard]] std::set<std::string> products_at(const Site& site,
                                                  const std::set<std::string>& sizes) const;
  [[nodiscard]] std::string origin_of(const std::string& value, std::size_t place) const;
  [[nodiscard]] std::map<std::string, std::string> guards_at(const Site& site,
                                                             const Names& names) const;
  [[nodiscard]] bool may_leave_at(const Site& place) const;
  void write_site(std::size_t site, std::string& out);
  void end_line(const std::string& text, std::string& out);
  void copy(std::string_view text, std::string& out);
  void write_line(std::size_t site, std::size_t alternative, const std::string& text,
                  std::string& out);
  [[nodiscard]] bool has_any(std::size_t site) const;

  std::string text_;
  bool runs_kernels_;
  rewrite::Source source_;
  Outline outline_;
  std::map<std::string, std::string> types_;            ///< types_in()
  std::vector<std::vector<Alternative>> alternatives_;  ///< of each site
  std::vector<bool> dropped_sites_;
  std::vector<std::set<std::string>> names_;  ///< the values that are known at each site
  std::vector<Edit> edits_;
  std::size_t copies_ = 0;  ///< the site of the copies
  Twins edited_macros_;     ///< what stands for a macro of which there are edits
  /// Of each line of the last text: site and alternative; alternative 0: the site as a whole.
  std::vector<std::pair<std::size_t, std::size_t>> lines_;
  std::pair<std::size_t, std::size_t> owner_;  ///< of the line that is being written
};

}  // namespace convlab::grader::mend
