#pragma once

#include <string>
#include <vector>

#include "grader/checks/mend/changes.hpp"
#include "grader/checks/mend/mend.hpp"

namespace convlab::grader::mend {

/// Whether changes make every case right, with arrays that begin and end at guard pages, with
/// several threads, and the smaller cases of kernels in both orders.
class Confirmation {
 public:
  /// @param submission  the program of all edits
  Confirmation(Submission& submission, const Wrong& wrong);

  bool confirms(const Changes& changes);

  /// Whether changes make the case right that the check found wrong, and some others, and leave
  /// cases wrong, of which none fails as the check saw.
  bool confirms_part(const Changes& changes);

  /// How many cases the last changes made right.
  [[nodiscard]] std::size_t right() const { return right_; }

  /// What is wrong in a case that the last changes leave wrong; empty if there is none.
  [[nodiscard]] const std::string& rest() const { return rest_; }

  /// The large cases of more edits would take too long.
  [[nodiscard]] bool is_spent() const;

 private:
  bool makes_all_right(const Changes& changes);
  [[nodiscard]] bool is_as_seen(const std::string& name) const;
  bool sets_aside_wrong_case();
  bool makes_right(const Changes& changes, const std::vector<ElementCase>& cases,
                   const std::string& order);

  Submission& submission_;
  const Wrong& wrong_file_;
  Finding wrong_;           ///< of the last run
  std::string wrong_case_;  ///< its name
  std::string own_id_;      ///< of what the file itself does in this program
  std::string rest_;
  std::size_t right_ = 0;
  std::vector<ElementCase> all_;    ///< also those that are set aside
  std::vector<ElementCase> aside_;  ///< whatever mends the mistake that is looked for
  std::string left_;                ///< the id of what is wrong there
  std::vector<ElementCase> small_;
  std::vector<ElementCase> large_;
  std::vector<std::string> orders_ = {"CONVLAB_EMU_ORDER=forward"};
  double used_ = 0.0;
};

/// Of each place the first mend that is confirmed.
/// @param is_part  those that make the most cases right, though not all
std::vector<Mend> confirm(Confirmation& confirmation, const ByLines& mends, const std::string& file,
                          bool is_part);

}  // namespace convlab::grader::mend
