#include "grader/checks/mend/mend.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/mend/changes.hpp"
#include "grader/checks/mend/confirmation.hpp"
#include "grader/checks/mend/edits.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader::mend {

namespace {

// All counts, so that the same file gives the same mends on every machine.
constexpr int kMostRounds = 5;              ///< of compilation
constexpr int kMostBuilds = 12;             ///< with those that tell one error
constexpr std::size_t kMostEdits = 12'000;  ///< in one program
constexpr std::size_t kMostParts = 2;       ///< programs, of a file that has more edits
constexpr std::size_t kMostPairs = 12'000;
constexpr std::size_t kMostRanked = 200;
constexpr std::size_t kMostPartners = 5;  ///< lines with whose best edit pairs are tried
constexpr std::size_t kInOneCall = 100;
constexpr int kMostRestarts = 100;
constexpr int kMostEndless = 2;        ///< trials without an end, each of which takes seconds
constexpr int kMostExamples = 10;      ///< as in mendable.hpp
constexpr std::size_t kMostWrong = 1;  ///< shapes: one wrong output shows that an edit is no mend
constexpr std::int64_t kLargestExample = 200'000;  ///< products
constexpr std::int64_t kLargestOfKernels = 20'000;
// Beside the counts: kernels with far too many blocks take a quarter of a second each. Times
// slowness(), so that a slower machine finds as much.
constexpr std::chrono::seconds kCallLimit{20};
constexpr double kMostSeconds = 25.0;  ///< of processor time

// The simplest ones first: an edit that mends one of two mistakes makes some of them right. The
// others have sizes that differ from each other, more than one tile of 32 outputs in each
// direction, and a stride.
constexpr ConvShape kShapes[] = {
    {1, 1, 1, 1, 1, 1, 1},   {1, 2, 1, 7, 7, 7, 1}, {1, 1, 1, 35, 19, 3, 1},
    {3, 2, 4, 4, 5, 1, 1},   {2, 3, 2, 5, 7, 3, 1}, {1, 2, 3, 9, 6, 2, 2},
    {2, 2, 2, 12, 10, 2, 3}, {1, 4, 2, 8, 9, 5, 1}, {1, 1, 1, 37, 70, 2, 2}};

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
  bool is_part = false;             ///< they make the most shapes right, though not all
  std::vector<const Edit*> near{};  ///< where none is enough: nearest()
};

using Gain = std::pair<std::pair<int, int>, const Edit*>;
constexpr std::pair kNothing(0, 0);

// Of the statements with the best edits those that exchange two names.
std::vector<const Edit*> nearest(const std::vector<Gain>& best) {
  constexpr std::size_t kMostStatements = 2;
  std::vector<const Edit*> near;
  std::set<std::size_t> sites;
  for (const auto& [gain, edit] : best) {
    if (edit->choices.size() != 1 || edit->before.empty() || edit->after.empty()) continue;
    const std::size_t site = edit->choices.front().first;
    if (gain > kNothing && sites.size() < kMostStatements) sites.insert(site);
    if (sites.contains(site) && edit->kind == Kind::kExchange) near.push_back(edit);
  }
  return near;
}

// Single edits; where none is enough, two of which one alone makes more outputs right; where these
// are not, edits that leave another mistake.
Found search(Trials& trials, const std::vector<Edit>& edits) {
  std::vector<Changes> mends;
  std::vector<Changes> tried;
  for (const Edit& edit : edits) tried.push_back({&edit});
  const std::vector<unsigned> right = try_all(trials, tried, mends);
  if (!mends.empty()) return {mends};
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
    if (gain <= kNothing || lines.size() == kMostPartners) break;
    if (!lines.insert(first->lines).second) continue;
    for (const auto& [other, second] : gains) {
      if (pairs.size() < kMostPairs && !share_a_site(*first, *second)) {
        pairs.push_back({first, second});
      }
    }
  }
  const std::vector<const Edit*> near = nearest(gains);
  try_all(trials, pairs, mends);
  if (!mends.empty()) return {mends, false, near};
  for (const auto& [gain, edit] : gains) {
    if (gain.first > 0 && gain.first == gains.front().first.first) mends.push_back({edit});
  }
  return {mends, true, near};
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

// The program of an edited file.
class EditedProgram {
 public:
  explicit EditedProgram(const std::filesystem::path& program)
      : submission_(program, std::chrono::ceil<std::chrono::seconds>(kCallLimit * slowness())) {
    submission_.set(&Submission::Settings::watches, false);
    // Of an emulated device the trials see the numbers themselves: a kernel then runs in the
    // process that launches it, and costs a hundredth.
    submission_.set(&Submission::Settings::withheld, Withheld::kNothing);
    submission_.set_environment(
        {"OMP_NUM_THREADS=1", "CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TIMEOUT=0.25"});
  }

  Submission& submission() { return submission_; }

  std::vector<Mend> confirmed(const Wrong& wrong, const ByLines& mends, bool is_part) {
    if (mends.empty()) return {};
    if (!confirmation_) confirmation_.emplace(submission_, wrong);
    return confirm(*confirmation_, mends, wrong.file, is_part);
  }

 private:
  Submission submission_;
  std::optional<Confirmation> confirmation_{};
};

// Edits that are changed once more in the same statement: one place tells more than two.
std::vector<Mend> with_second_changes(const std::vector<const Edit*>& near, EditableFile& file,
                                      const Wrong& wrong, const BuildEdited& build) {
  file.add_second_changes(near);
  file.keep_part(0, kMostEdits);
  if (file.edits().empty()) return {};
  const std::filesystem::path built = build_all(file, build);
  if (built.empty()) return {};
  EditedProgram program(built);
  const std::vector<Edit> edits = file.edits();
  Trials trials(program.submission(), wrong.stage, shapes_for(wrong), wrong.seed);
  trials.run_own();
  std::vector<Changes> tried;
  for (const Edit& edit : edits) tried.push_back({&edit});
  std::vector<Changes> mends;
  try_all(trials, tried, mends);
  return program.confirmed(wrong, by_lines(mends), false);
}

// Of one part of a file's edits. None if no edit is a mend; empty if they prove no place.
std::optional<std::vector<Mend>> mends_of(EditableFile& file, const Wrong& wrong,
                                          const BuildEdited& build) {
  const std::filesystem::path built = build_all(file, build);
  if (built.empty()) return std::nullopt;
  const std::vector<Edit> edits = file.edits();
  EditedProgram program(built);
  const Found found = search(program.submission(), wrong, edits);
  auto mends = by_lines(found.mends);
  if (mends.size() > kMostLines) keep_first_places(mends);
  std::vector<Mend> confirmed;
  if (!found.near.empty()) confirmed = with_second_changes(found.near, file, wrong, build);
  if (confirmed.empty() && !found.is_part) confirmed = program.confirmed(wrong, mends, false);
  if (confirmed.empty() && mends.size() <= kMostLines)
    confirmed = program.confirmed(wrong, mends, true);
  if (confirmed.size() > kMostLines) return std::vector<Mend>();
  return confirmed.empty() ? std::nullopt : std::optional(confirmed);
}

}  // namespace

std::vector<Mend> find_mends(const Wrong& wrong, const BuildEdited& build) {
  std::vector<Mend> rest;  // those that leave a case wrong
  for (std::size_t part = 0; part < kMostParts; ++part) {
    EditableFile file(wrong.text, wrong.runs_kernels);
    file.keep_part(part, kMostEdits);
    if (file.edits().empty()) break;
    const auto mends = mends_of(file, wrong, build);
    if (mends && (mends->empty() || mends->front().rest.empty())) return *mends;
    if (mends && rest.empty()) rest = *mends;
  }
  return rest;
}

}  // namespace convlab::grader::mend
