#include "grader/checks/mend/confirmation.hpp"

#include <algorithm>
#include <functional>

namespace convlab::grader::mend {

namespace {

constexpr std::int64_t kLargestCase = 700'000;
constexpr double kMostSecondsOfLarge = 60.0;

// What has to be right with a mend, too.
constexpr ConvShape kUneven[] = {
    {1, 1, 1, 300, 2, 1, 1}, {1, 1, 1, 5, 1, 1, 1}, {1, 1, 1, 1, 5, 1, 1}, {1, 7, 1, 2, 3, 1, 1}};

std::string told_of(const ElementCase& test) {
  return "Case '" + test.name + "' (" + to_string(test.shape) + ") is still wrong then.";
}

}  // namespace

Confirmation::Confirmation(Submission& submission, const Wrong& wrong)
    : submission_(submission), wrong_file_(wrong) {
  for (ElementCase each : wrong.cases) {
    each.probe = ElementCase::Probe::kKnown;
    (each.shape.multiply_adds() <= kLargestCase ? small_ : large_).push_back(each);
    all_.push_back(each);
  }
  // By an edit another size may do in place of the right one, as long as both are alike.
  if (std::ranges::any_of(wrong.cases, &ElementCase::is_of_any_shape)) {
    for (const ConvShape& shape : kUneven) {
      small_.push_back({"uneven", shape, true, 8, false, ElementCase::Probe::kKnown});
    }
  }
  if (wrong.runs_kernels) orders_.emplace_back("CONVLAB_EMU_ORDER=reverse");
  std::vector<ElementCase> failing = all_;
  std::erase_if(failing, [&](const auto& each) { return each.name != wrong.failing_case; });
  if (!makes_right({}, failing.empty() ? all_ : failing, orders_.front())) own_id_ = wrong_.id;
}

bool Confirmation::confirms(const Changes& changes) {
  while (!makes_all_right(changes)) {
    if (!sets_aside_wrong_case()) return false;
  }
  rest_.clear();
  for (const ElementCase& test : aside_) {
    if (!makes_right(changes, {test}, orders_.front())) rest_ = told_of(test);
    if (!rest_.empty()) break;
  }
  return true;
}

bool Confirmation::confirms_part(const Changes& changes) {
  constexpr std::size_t kFewest = 5;
  right_ = 0;
  rest_.clear();
  for (const ElementCase& test : all_) {
    if (makes_right(changes, {test}, orders_.front())) {
      ++right_;
      continue;
    }
    if (is_as_seen(test.name)) return false;
    if (rest_.empty()) rest_ = told_of(test);
  }
  // What makes all of them right was refused for another reason: the order of threads.
  return right_ >= kFewest && !rest_.empty();
}

bool Confirmation::is_spent() const {
  return used_ > kMostSecondsOfLarge * slowness();
}

bool Confirmation::makes_all_right(const Changes& changes) {
  const bool is_right = std::ranges::all_of(
      orders_, [&](const std::string& order) { return makes_right(changes, small_, order); });
  return is_right && makes_right(changes, large_, orders_.front());
}

// Whether the last run failed as the file does without a change: as the check names it, or as
// this program shows it, where nobody has looked closer.
bool Confirmation::is_as_seen(const std::string& name) const {
  return wrong_.id == wrong_file_.id || wrong_.id == own_id_ || name == wrong_file_.failing_case;
}

// A case where the file fails in the same way with a change and without it, and not as the check
// saw, has another mistake: no change of the one that is looked for makes it right.
bool Confirmation::sets_aside_wrong_case() {
  const Finding changed = wrong_;
  if (is_as_seen(wrong_case_) || !(left_.empty() || left_ == changed.id)) return false;
  for (std::vector<ElementCase>* cases : {&small_, &large_}) {
    const auto test = std::ranges::find(*cases, wrong_case_, &ElementCase::name);
    if (test == cases->end()) continue;
    if (makes_right({}, {*test}, orders_.front()) || wrong_.id != changed.id) return false;
    left_ = changed.id;
    aside_.push_back(*test);
    cases->erase(test);
    return true;
  }
  return false;
}

bool Confirmation::makes_right(const Changes& changes, const std::vector<ElementCase>& cases,
                               const std::string& order) {
  submission_.set_environment(
      {"CONVLAB_MEND=" + listed(joined(changes)), "OMP_NUM_THREADS=4", order});
  std::vector<std::string> names;
  const auto found = first_finding(submission_, wrong_file_.stage, cases, wrong_file_.seed, &names);
  if (found) wrong_ = *found, wrong_case_ = names.front();
  const ProcessUsage usage = submission_.usage();
  used_ += usage.user_s + usage.system_s;
  return !found;
}

std::vector<Mend> confirm(Confirmation& confirmation, const ByLines& mends, const std::string& file,
                          bool is_part) {
  std::vector<Mend> confirmed;
  std::size_t most = 0;
  for (const auto& [lines, all] : mends) {
    for (const Changes& each : all) {
      if (confirmation.is_spent()) return {};  // another line may be as right
      if (!(is_part ? confirmation.confirms_part(each) : confirmation.confirms(each))) continue;
      if (is_part && confirmation.right() < most) break;
      if (is_part && confirmation.right() > most) confirmed.clear();
      most = confirmation.right();
      confirmed.push_back(mend_of(each, file));
      confirmed.back().rest = confirmation.rest();
      break;
    }
  }
  const auto is_whole = [](const Mend& each) { return each.rest.empty(); };
  if (std::ranges::any_of(confirmed, is_whole)) std::erase_if(confirmed, std::not_fn(is_whole));
  // A guard that becomes a loop also does the work of a grid that is too small.
  const auto repeats = [](const Mend& each) { return each.kind == words_of(Kind::kRepeated); };
  if (!std::ranges::all_of(confirmed, repeats)) std::erase_if(confirmed, repeats);
  std::ranges::stable_sort(confirmed, {}, [](const Mend& each) { return each.lines.size(); });
  return confirmed;
}

}  // namespace convlab::grader::mend
