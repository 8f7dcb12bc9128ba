#pragma once

#include <string>
#include <vector>

#include "common/emulation/rewrite/source.hpp"
#include "grader/checks/mend/expression.hpp"
#include "grader/checks/mend/outline.hpp"

namespace convlab::grader::mend {

/// A change that no number can choose while the program runs: of a type, of the size of an array,
/// of a constant, of a declaration, of a whole block. Each gets a copy of the file.
struct CopyChange {
  Kind kind = Kind::kSize;
  std::vector<Splice> splices{};  ///< in the order of the file
  std::size_t moved_to = 0;       ///< a token, where something moves
  std::string told{};             ///< what stands in the first line then, if not as it is compiled
};

/// The changes of a file, so many at most, of each kind nearly as many.
std::vector<CopyChange> copy_changes_of(const rewrite::Source& source, const Outline& outline,
                                        std::size_t most);

}  // namespace convlab::grader::mend
