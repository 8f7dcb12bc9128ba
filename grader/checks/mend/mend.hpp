#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/element_cases.hpp"
#include "grader/checks/result/evidence.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::mend {

/// Builds the program of a changed text of the submission's one file.
using BuildEdited = std::function<BuiltSubmission(const std::string& text)>;

/// A wrong stage of one file.
struct Wrong {
  const StageInfo& stage;
  std::string file{};                  ///< its name, to quote
  std::string text{};                  ///< of the file
  std::string id{};                    ///< of what the check found
  bool runs_kernels = false;           ///< it is built for the emulated device
  std::optional<ConvShape> failing{};  ///< a shape at which it is wrong
  std::string failing_case{};          ///< its name
  std::vector<ElementCase> cases{};    ///< a mend must make all of these right
  std::uint64_t seed = 0;
};

/// Tries single edits of the file's tokens; where none is enough, two of which one already makes
/// more outputs right, or in one statement two exchanged counters and one other size. All edits are
/// compiled into one program and chosen at run time, so each costs one run of a few small shapes;
/// those of a long file into two, of which the second is made if the first holds no mend.
/// An edit is a mend if it makes every shape and every case right, with arrays that begin and end
/// at guard pages and with several threads. Where none does, the one counts that makes the failing
/// case and the most others right, if none of the rest fails as the check saw: Mend::rest tells
/// what is left.
/// @return the mends, one of a line; none if there is none, or if they lie in more than kMostLines
///         lines, so that they prove no place
std::vector<Mend> find_mends(const Wrong& wrong, const BuildEdited& build);

inline constexpr std::size_t kMostLines = 4;

}  // namespace convlab::grader::mend
