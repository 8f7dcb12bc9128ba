#include "grader/checks/who_computes.hpp"

#include <algorithm>
#include <vector>

#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

WhoComputes who_computes(Submission& submission, const std::string& stage, const std::string& where,
                         std::span<float> output, const std::function<bool()>& is_right) {
  const Withheld before = submission.withheld();
  if (before == Withheld::kNothing) return {};
  const std::vector<float> first(output.begin(), output.end());
  const auto go_back = [&] {
    submission.set_withheld(before);
    std::copy(first.begin(), first.end(), output.begin());
  };
  bool launches = false;
  const auto right_with = [&](Withheld withheld) {
    submission.set_withheld(withheld);
    const Call call = submission.run(stage);
    launches = launches || !call.notes.launches.empty();
    return !call.failure && is_right();
  };
  submission.repeat_tokens(true);
  const bool by_tokens = right_with(Withheld::kNothing) && !right_with(before);
  submission.repeat_tokens(false);
  if (!by_tokens) {
    go_back();
    return {};  // wrong all the same, or wrong only sometimes: this has another cause
  }
  // A number of the program may equal a token; then it does not equal one of the next draw.
  if (right_with(before)) return {.is_right = true};
  for (const Withheld one : {Withheld::kInput, Withheld::kWeights}) {
    if (right_with(one)) return {.is_right = true};
  }
  go_back();
  return {.finding = finding(launches ? "E-no-kernel/host" : "E-no-kernel/none", "In " + where)};
}

}  // namespace convlab::grader
