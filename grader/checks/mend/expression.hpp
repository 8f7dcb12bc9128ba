#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/emulation/rewrite/source.hpp"
#include "grader/checks/mend/atoms.hpp"
#include "grader/checks/mend/outline.hpp"

namespace convlab::grader::mend {

/// What an edit changes; the words for a student are in edits.cpp.
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
  kGuardAdded,
  kCast,
  kSize,
  kType,
  kWord,
  kStart,
  kPragma,
  kElsewhere,
  kRounding,
  kBytes,
  kLaunch,
  kCapture,
  kRepeated,
};

/// "the comparison"
const char* words_of(Kind kind);

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
  /// What the function multiplies of sizes alone, "H * W", and each size.
  std::set<std::string> products{};
  /// Of the host: what an array may have beside its elements, those and squares.
  std::set<std::string> parts{};
  /// Of calls that take a number of bytes, and of launches.
  std::set<std::string> bytes{};
  bool is_of_host = true;
  /// Conditions that may keep a thread away, "h < H_out", by what they become where it has to
  /// leave.
  std::map<std::string, std::string> guards{};
};

/// What stands instead of tokens [begin, end).
struct Splice {
  std::size_t begin, end;
  std::string text;
};

/// Tokens [begin, end) with some of them replaced, without the blanks that would be left.
std::string spliced(const rewrite::Source& source, std::size_t begin, std::size_t end,
                    const std::vector<Splice>& splices);

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
