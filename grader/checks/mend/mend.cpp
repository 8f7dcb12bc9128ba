#include "grader/checks/mend/mend.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/mend/changes.hpp"
#include "grader/checks/mend/edits.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader::mend {

namespace {

// All counts, so that the same file gives the same mends on every machine.
constexpr int kMostRounds = 5;   ///< of compilation
constexpr int kMostBuilds = 12;  ///< with those that tell one error
constexpr std::size_t kMostEdits = 12'000;
constexpr std::size_t kMostPairs = 12'000;
constexpr std::size_t kMostRanked = 200;
constexpr std::size_t kMostPartners = 5;  ///< lines with whose best edit pairs are tried
constexpr std::size_t kInOneCall = 100;
constexpr int kMostRestarts = 100;
constexpr int kMostEndless = 2;  ///< trials without an end, each of which takes seconds
constexpr std::size_t kMostConfirmed = 16;
constexpr int kMostExamples = 10;      ///< as in mendable.hpp
constexpr std::size_t kMostWrong = 1;  ///< shapes: one wrong output shows that an edit is no mend
constexpr std::int64_t kLargestExample = 200'000;  ///< products
constexpr std::int64_t kLargestOfKernels = 20'000;
constexpr std::int64_t kLargestCase = 700'000;
// Beside the counts: kernels with far too many blocks take a quarter of a second each. Times
// slowness(), so that a slower machine finds as much.
constexpr std::chrono::seconds kCallLimit{20};
constexpr double kMostSeconds = 25.0;  ///< of processor time
constexpr double kMostSecondsOfLarge = 60.0;

// The simplest ones first: an edit that mends one of two mistakes makes some of them right. The
// others have sizes that differ from each other, more than one tile of 32 outputs in each
// direction, and a stride.
constexpr ConvShape kShapes[] = {
    {1, 1, 1, 1, 1, 1, 1},   {1, 2, 1, 7, 7, 7, 1}, {1, 1, 1, 35, 19, 3, 1},
    {3, 2, 4, 4, 5, 1, 1},   {2, 3, 2, 5, 7, 3, 1}, {1, 2, 3, 9, 6, 2, 2},
    {2, 2, 2, 12, 10, 2, 3}, {1, 4, 2, 8, 9, 5, 1}, {1, 1, 1, 37, 70, 2, 2}};

// What has to be right with a mend, too.
constexpr ConvShape kUneven[] = {
    {1, 1, 1, 300, 2, 1, 1}, {1, 1, 1, 5, 1, 1, 1}, {1, 1, 1, 1, 5, 1, 1}, {1, 7, 1, 2, 3, 1, 1}};

// The lines of the edited file in which the compiler found errors, or which use a macro or a
// template of a header that has one with their types.
std::set<std::size_t> lines_with_errors(const std::string& log, const std::string& file) {
  std::set<std::size_t> lines;
  std::size_t user = 0;
  for (const std::string& line : lines_of(log)) {
    const auto expansion = line.find(": note: in expansion of macro ");
    const auto mark =
        std::min({line.find(": error: "), line.find(":   required from "), expansion});
    const auto name = line.find(file + ":");
    // An error in an edited macro has its own line.
    const bool is_own = line.find("macro ‘convlab_mend_") != std::string::npos ||
                        line.find("macro 'convlab_mend_") != std::string::npos;
    if (mark == std::string::npos || is_own) continue;
    if (name < mark) {
      user = static_cast<std::size_t>(std::atol(line.c_str() + name + file.size() + 1));
    }
    if (line[mark + 2] == 'e' || mark == expansion) lines.insert(user);
  }
  return lines;
}

// The program with all edits that compile; empty if that fails.
std::filesystem::path build_all(EditableFile& file, const BuildEdited& build) {
  int round = 0;
  for (int i = 0; i < kMostBuilds && round < kMostRounds; ++i) {
    const BuiltSubmission built = build(file.text());
    if (!built.problem) return built.program;
    if (built.problem->kind != BuildProblem::Kind::kDoesNotCompile) return {};
    const std::string name = std::filesystem::path(built.problem->file).filename();
    const auto log = built.folder / "compiler.log";
    if (name.empty() || !std::filesystem::exists(log)) return {};
    const std::set<std::size_t> lines = lines_with_errors(read_text(log), name);
    if (!file.drop_lines(lines, round > 1)) return {};
    if (lines.size() > 1) ++round;  // what rewrites kernels tells one error at a time, but at once
  }
  return {};
}

/// Runs edits in the edited program.
class Trials {
 public:
  Trials(Submission& submission, const StageInfo& stage, const std::vector<ConvShape>& shapes,
         std::uint64_t seed, float unit = 0.25F)
      : submission_(submission), stage_(stage), count_(shapes.size()) {
    std::mt19937_64 engine(seed);
    list_.push_back(static_cast<float>(shapes.size()));
    for (const ConvShape& shape : shapes) {
      for (const int size : {shape.batch, shape.out_channels, shape.in_channels, shape.height,
                             shape.width, shape.kernel, shape.stride}) {
        list_.push_back(static_cast<float>(size));
      }
      // Quarters: whole numbers would hide a sum that is an int.
      const auto draw = [&](std::int64_t count) {
        std::vector<float> numbers(static_cast<std::size_t>(count));
        for (float& each : numbers) {
          const int value = static_cast<int>(engine() % 14) - 7;
          each = static_cast<float>(value < 0 ? value : value + 1) * unit;
        }
        list_.insert(list_.end(), numbers.begin(), numbers.end());
        return numbers;
      };
      const auto input = draw(shape.input_size());
      const auto weights = draw(shape.weights_size());
      const auto right = oracle::exact_sums(shape, input.data(), weights.data());
      for (const double sum : right) list_.push_back(static_cast<float>(sum));
    }
  }

  /// Whether a result stands for all shapes.
  [[nodiscard]] bool is_all(unsigned right) const { return shapes_of(right) == (1U << count_) - 1; }
  /// How many shapes it makes right that the file itself makes wrong, and how many more outputs.
  [[nodiscard]] std::pair<int, int> gain(unsigned right) const {
    const auto outputs = [](unsigned of) { return static_cast<int>(of >> kMostExamples); };
    return {std::popcount(shapes_of(right) & ~own_), outputs(right) - outputs(base_)};
  }

  /// How many shapes the file makes right as it is.
  [[nodiscard]] int right() const { return std::popcount(own_); }

  /// Which shapes the file makes right as it is.
  unsigned run_own() {
    run({}, count_);
    own_ = shapes_of(base_);
    return base_;
  }

  /// What each of these makes right, as mendable.hpp tells it; fewer results if the program fails
  /// too often. @param most_wrong  shapes, then an edit is tried no further
  std::vector<unsigned> run(const std::vector<Choices>& edits, std::size_t most_wrong) {
    most_wrong_ = most_wrong;
    std::vector<unsigned> right;
    run_some({{}}, right);
    base_ = right.front();
    right.clear();
    while (right.size() < edits.size() && restarts_ < kMostRestarts && endless_ < kMostEndless &&
           used_before_ + used() < kMostSeconds * slowness()) {
      const std::size_t end = std::min(edits.size(), right.size() + kInOneCall);
      run_some({edits.begin() + static_cast<std::ptrdiff_t>(right.size()),
                edits.begin() + static_cast<std::ptrdiff_t>(end)},
               right);
    }
    return right;
  }

 private:
  static unsigned shapes_of(unsigned right) { return right & ((1U << kMostExamples) - 1); }

  void run_some(const std::vector<Choices>& edits, std::vector<unsigned>& right) {
    std::vector<float> list = list_;
    list.push_back(static_cast<float>(own_));
    list.push_back(static_cast<float>(most_wrong_));
    list.push_back(static_cast<float>(edits.size()));
    for (const Choices& choices : edits) {
      list.push_back(static_cast<float>(choices.size()));
      for (const auto& [site, alternative] : choices) {
        list.push_back(static_cast<float>(site));
        list.push_back(static_cast<float>(alternative));
      }
    }
    const int length = static_cast<int>(std::max(list.size(), edits.size()));
    const Arrays arrays = submission_.prepare({1, 1, 1, 1, length, 1, 1}, Placement::kAligned);
    std::copy(list.begin(), list.end(), arrays.input);
    arrays.weights[0] = 0.0f;
    const Call call = submission_.run(stage_.id);
    for (std::size_t i = 0; i < edits.size(); ++i) {
      if (std::bit_cast<std::uint32_t>(arrays.output[i]) == oracle::kPoisonBits) {
        right.push_back(0);  // this one ended the program
        ++restarts_;
        if (is_endless(call)) ++endless_;
        used_before_ += used();
        submission_.restart();
        return;
      }
      right.push_back(static_cast<unsigned>(arrays.output[i]));
    }
  }

  /// Seconds of processor time, by the process that runs.
  [[nodiscard]] double used() const {
    const ProcessUsage usage = submission_.usage();
    return usage.user_s + usage.system_s;
  }

  static bool is_endless(const Call& call) {
    const auto& failure = call.failure;
    return failure && (failure->kind == Failure::Kind::kTimeout ||
                       (failure->fault && failure->fault->kind == FaultKind::kKernelTime));
  }

  Submission& submission_;
  const StageInfo& stage_;
  std::size_t count_;
  std::size_t most_wrong_ = 0;  ///< of the edits that are tried now
  unsigned own_ = 0;            ///< shapes that the file makes right as it is
  unsigned base_ = 0;           ///< what it makes right where edits are tried no further
  std::vector<float> list_;
  int restarts_ = 0;
  int endless_ = 0;
  double used_before_ = 0.0;  ///< by processes that have ended
};

// The shape that failed comes last: mendable.hpp tries it where all others are right.
std::vector<ConvShape> shapes_for(const Wrong& wrong) {
  const std::int64_t largest = wrong.runs_kernels ? kLargestOfKernels : kLargestExample;
  std::vector<ConvShape> shapes(std::begin(kShapes), std::end(kShapes));
  if (wrong.failing && wrong.failing->multiply_adds() <= largest) shapes.push_back(*wrong.failing);
  return shapes;
}

// Tries them. Adds those that make all shapes right. @return what each of them makes right
std::vector<unsigned> try_all(Trials& trials, const std::vector<Changes>& tried,
                              std::vector<Changes>& mends) {
  std::vector<Choices> choices;
  for (const Changes& each : tried) choices.push_back(joined(each));
  std::vector<unsigned> right = trials.run(choices, kMostWrong);
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (trials.is_all(right[i])) mends.push_back(tried[i]);
  }
  return right;
}

// One size as in a case that is too large to be tried, the others small: a counter of a short type
// fails at the width alone.
std::vector<ConvShape> narrowed(const Wrong& wrong) {
  const ConvShape& whole = *wrong.failing;
  std::vector<ConvShape> shapes = {{.height = whole.height, .width = 2},
                                   {.height = 2, .width = whole.width}};
  // Each would be thousands of blocks.
  if (wrong.runs_kernels) return shapes;
  shapes.push_back({.height = whole.height, .width = whole.width});
  shapes.push_back({.batch = whole.batch, .height = 2, .width = 2});
  shapes.push_back({.out_channels = whole.out_channels, .height = 2, .width = 2});
  shapes.push_back({.in_channels = whole.in_channels, .height = 2, .width = 2});
  std::erase_if(shapes, [](const auto& each) { return each.multiply_adds() > kLargestExample; });
  return shapes;
}

struct Found {
  std::vector<Changes> mends{};
  bool is_part = false;  ///< they make the most shapes right, though not all
};

// Single edits; where none is enough, two of which one alone makes more outputs right; where these
// are not, edits that leave another mistake.
Found search(Trials& trials, const std::vector<Edit>& edits) {
  std::vector<Changes> mends;
  std::vector<Changes> tried;
  for (const Edit& edit : edits) tried.push_back({&edit});
  const std::vector<unsigned> right = try_all(trials, tried, mends);
  if (!mends.empty()) return {mends};
  using Gain = std::pair<std::pair<int, int>, const Edit*>;
  std::vector<Gain> gains;
  for (std::size_t i = 0; i < right.size(); ++i)
    gains.emplace_back(trials.gain(right[i]), tried[i].front());
  std::ranges::stable_sort(gains, std::greater{}, &Gain::first);
  // Those that look best, at all shapes.
  const std::size_t best = std::min(gains.size(), kMostRanked);
  std::vector<Choices> again;
  for (std::size_t i = 0; i < best; ++i) again.push_back(gains[i].second->choices);
  const std::vector<unsigned> whole = trials.run(again, kMostExamples);
  for (std::size_t i = 0; i < whole.size(); ++i) gains[i].first = trials.gain(whole[i]);
  std::ranges::stable_sort(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(best),
                           std::greater{}, &Gain::first);
  // Of one line many edits are alike.
  std::vector<Changes> pairs;
  std::set<std::set<std::size_t>> lines;
  for (const auto& [gain, first] : gains) {
    if (gain <= std::pair(0, 0) || lines.size() == kMostPartners) break;
    if (!lines.insert(first->lines).second) continue;
    for (const auto& [other, second] : gains) {
      if (pairs.size() < kMostPairs && !share_a_site(*first, *second)) {
        pairs.push_back({first, second});
      }
    }
  }
  try_all(trials, pairs, mends);
  if (!mends.empty()) return {mends};
  for (const auto& [gain, edit] : gains) {
    if (gain.first > 0 && gain.first == gains.front().first.first) mends.push_back({edit});
  }
  return {mends, true};
}

Found search(Submission& submission, const Wrong& wrong, const std::vector<Edit>& edits) {
  Trials usual(submission, wrong.stage, shapes_for(wrong), wrong.seed);
  if (!usual.is_all(usual.run_own())) {
    const Found found = search(usual, edits);
    if (!found.mends.empty()) return found;
    // Beside a sum that is an int another mistake shows in whole numbers alone.
    Trials whole(submission, wrong.stage, shapes_for(wrong), wrong.seed, 1.0F);
    const bool is_all = whole.is_all(whole.run_own());
    return !is_all && whole.right() > usual.right() ? search(whole, edits) : found;
  }
  if (!wrong.failing) return {};
  Trials narrow(submission, wrong.stage, narrowed(wrong), wrong.seed);
  return narrow.is_all(narrow.run_own()) ? Found() : search(narrow, edits);
}

/// Whether changes make every case right, with arrays that begin and end at guard pages, with
/// several threads, and the smaller cases of kernels in both orders.
class Confirmation {
 public:
  Confirmation(Submission& submission, const Wrong& wrong)
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

  bool confirms(const Changes& changes) {
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

  /// Whether changes make the case right that the check found wrong, and some others, and leave
  /// cases wrong, of which none fails as the check saw.
  bool confirms_part(const Changes& changes) {
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

  /// How many cases the last changes made right.
  [[nodiscard]] std::size_t right() const { return right_; }

  /// What is wrong in a case that the last changes leave wrong; empty if there is none.
  [[nodiscard]] const std::string& rest() const { return rest_; }

  /// The large cases of more edits would take too long.
  [[nodiscard]] bool is_spent() const { return used_ > kMostSecondsOfLarge * slowness(); }

 private:
  bool makes_all_right(const Changes& changes) {
    const bool is_right = std::ranges::all_of(
        orders_, [&](const std::string& order) { return makes_right(changes, small_, order); });
    return is_right && makes_right(changes, large_, orders_.front());
  }

  [[nodiscard]] std::string told_of(const ElementCase& test) const {
    return "Case '" + test.name + "' (" + to_string(test.shape) + ") is still wrong then.";
  }

  // Whether the last run failed as the file does without a change: as the check names it, or as
  // this program shows it, where nobody has looked closer.
  [[nodiscard]] bool is_as_seen(const std::string& name) const {
    return wrong_.id == wrong_file_.id || wrong_.id == own_id_ || name == wrong_file_.failing_case;
  }

  // A case where the file fails in the same way with a change and without it, and not as the check
  // saw, has another mistake: no change of the one that is looked for makes it right.
  bool sets_aside_wrong_case() {
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

  bool makes_right(const Changes& changes, const std::vector<ElementCase>& cases,
                   const std::string& order) {
    submission_.set_environment(
        {"CONVLAB_MEND=" + listed(joined(changes)), "OMP_NUM_THREADS=4", order});
    std::vector<std::string> names;
    const auto found =
        first_finding(submission_, wrong_file_.stage, cases, wrong_file_.seed, &names);
    if (found) wrong_ = *found, wrong_case_ = names.front();
    const ProcessUsage usage = submission_.usage();
    used_ += usage.user_s + usage.system_s;
    return !found;
  }

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

// Of each place the first mend that is confirmed. @param is_part  those that make the most cases
// right, though not all
std::vector<Mend> confirm(Confirmation& confirmation, const ByLines& mends, const std::string& file,
                          bool is_part) {
  std::vector<Mend> confirmed;
  std::size_t runs = 0;
  std::size_t most = 0;
  for (const auto& [lines, all] : mends) {
    for (const Changes& each : all) {
      if (confirmation.is_spent()) return {};  // another line may be as right
      if (runs++ == kMostConfirmed) break;
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
  std::ranges::stable_sort(confirmed, {}, [](const Mend& each) { return each.lines.size(); });
  return confirmed;
}

}  // namespace

std::vector<Mend> find_mends(const Wrong& wrong, const BuildEdited& build) {
  EditableFile file(wrong.text, wrong.runs_kernels);
  file.keep_at_most(kMostEdits);
  if (file.edits().empty()) return {};
  const std::filesystem::path program = build_all(file, build);
  if (program.empty()) return {};
  const std::vector<Edit> edits = file.edits();
  Submission submission(program, std::chrono::ceil<std::chrono::seconds>(kCallLimit * slowness()));
  submission.set(&Submission::Settings::watches, false);
  // Of an emulated device the trials see the numbers themselves: a kernel then runs in the process
  // that launches it, and costs a hundredth.
  submission.set(&Submission::Settings::withheld, Withheld::kNothing);
  submission.set_environment(
      {"OMP_NUM_THREADS=1", "CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TIMEOUT=0.25"});
  const Found found = search(submission, wrong, edits);
  auto mends = by_lines(found.mends);
  if (mends.size() > kMostLines) keep_first_places(mends);
  Confirmation confirmation(submission, wrong);
  std::vector<Mend> confirmed;
  if (!found.is_part) confirmed = confirm(confirmation, mends, wrong.file, false);
  if (confirmed.empty() && mends.size() <= kMostLines)
    confirmed = confirm(confirmation, mends, wrong.file, true);
  return confirmed.size() > kMostLines ? std::vector<Mend>() : confirmed;
}

}  // namespace convlab::grader::mend
