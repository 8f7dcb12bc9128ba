#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/emulation/rewrite/source.hpp"
#include "grader/checks/mend/outline.hpp"

namespace convlab::grader::mend {

/// What an edit changes; the words for a student are in expression.cpp.
enum class Kind {
  kName,
  kExchange,
  kComparison,
  kOperator,
  kNumber,
  kOneMore,
  kFactorAdded,
  kTermAdded,
  kFactorRemoved,
  kTermRemoved,
  kParentheses,
  kAssignment,
  kCondition,
  kDeleted,
  kMoved,
  kAdded,
};

/// "the comparison"
const char* words_of(Kind kind);

/// A number, or a name with its members, "shape.out_height()".
struct Atom {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_array = false;
  bool is_number = false;
};

/// The names and numbers of tokens [begin, end) that stand for values and arrays.
std::vector<Atom> atoms_in(const rewrite::Source& source, std::size_t begin, std::size_t end);

/// The pointers, those to constants and the sizes of grids that a file declares, each with its
/// type.
std::map<std::string, std::string> types_in(const rewrite::Source& source);

/// Whether the address of what begins at token i is taken: f(&i).
bool takes_address(const rewrite::Source& source, std::size_t i);

/// What is known at a site and used by its function.
struct Names {
  std::set<std::string> values{};
  std::set<std::string> sizes{};     ///< the values that are no counters
  std::set<std::string> counters{};  ///< of loops and threads
  std::set<std::string> assignable{};
  std::set<std::string> arrays{};
  std::set<std::string> structures{};  ///< of which members are read
  std::set<std::string> addressed{};   ///< whose address is taken: those have types of their own
  /// Pointers and sizes of grids, by their type: each stands only for others of it, and no number
  /// is added.
  std::map<std::string, std::set<std::string>> typed{};
};

/// One change of a site: its alternative, and the token where it begins.
struct Change {
  Kind kind = Kind::kName;
  std::size_t token = 0;
  std::string text{};
};

/// All small changes of one expression or statement, the latter without its semicolon.
std::vector<Change> changes_of(const rewrite::Source& source, const Site& site, const Names& names);

/// The site with all of one atom replaced by another, and the other way round if they are
/// exchanged; empty if it has none of them.
std::string replaced_everywhere(const rewrite::Source& source, const Site& site,
                                const std::string& from, const std::string& to, bool exchange);

}  // namespace convlab::grader::mend
