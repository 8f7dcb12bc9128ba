#include "grader/checks/mend/mend.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/mend/edits.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader::mend {

namespace {

// All counts, so that the same file gives the same mends on every machine.
constexpr int kMostRounds = 5;  ///< of compilation
constexpr std::size_t kMostEdits = 12'000;
constexpr std::size_t kMostPairs = 8000;
constexpr std::size_t kMostPartners = 4;  ///< edits with which pairs are tried
constexpr std::size_t kInOneCall = 100;
constexpr int kMostRestarts = 100;
constexpr int kMostEndless = 2;  ///< trials without an end, each of which takes seconds
constexpr std::size_t kMostConfirmed = 16;
constexpr std::size_t kMostOfLine = 2;
constexpr std::size_t kMostWrongOfKernels = 2;
constexpr std::int64_t kLargestExample = 200'000;  ///< products
constexpr std::int64_t kLargestOfKernels = 20'000;
constexpr std::int64_t kLargestCase = 700'000;
constexpr std::chrono::seconds kCallLimit{20};
// Beside the counts: kernels with far too many blocks take a quarter of a second each.
constexpr double kMostSeconds = 25.0;  ///< of processor time

// Sizes that differ from each other, more than one tile of 32 outputs in each direction, with a
// stride too, and the simplest ones.
constexpr ConvShape kShapes[] = {
    {2, 3, 2, 5, 7, 3, 1},   {1, 2, 3, 9, 6, 2, 2}, {3, 2, 4, 4, 5, 1, 1},
    {2, 2, 2, 12, 10, 2, 3}, {1, 4, 2, 8, 9, 5, 1}, {1, 1, 1, 35, 19, 3, 1},
    {1, 1, 1, 37, 70, 2, 2}, {1, 1, 1, 1, 1, 1, 1}, {1, 2, 1, 7, 7, 7, 1}};

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
    if (mark == std::string::npos) continue;
    if (name < mark) {
      user = static_cast<std::size_t>(std::atol(line.c_str() + name + file.size() + 1));
    }
    if (line[mark + 2] == 'e' || mark == expansion) lines.insert(user);
  }
  return lines;
}

// The program with all edits that compile; empty if that fails.
std::filesystem::path build_all(EditableFile& file, const BuildEdited& build) {
  for (int round = 0; round < kMostRounds; ++round) {
    const BuiltSubmission built = build(file.text());
    if (!built.problem) return built.program;
    if (built.problem->kind != BuildProblem::Kind::kDoesNotCompile) return {};
    const std::string name = std::filesystem::path(built.problem->file).filename();
    const auto log = built.folder / "compiler.log";
    if (name.empty() || !std::filesystem::exists(log)) return {};
    if (!file.drop_lines(lines_with_errors(read_text(log), name), round > 0)) return {};
  }
  return {};
}

using Choices = std::vector<std::pair<std::size_t, std::size_t>>;

/// Runs edits in the edited program.
class Trials {
 public:
  Trials(Submission& submission, const StageInfo& stage, const std::vector<ConvShape>& shapes,
         std::uint64_t seed, std::size_t most_wrong)
      : submission_(submission), stage_(stage), count_(shapes.size()), most_wrong_(most_wrong) {
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
          each = static_cast<float>(value < 0 ? value : value + 1) / 4;
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
    return {std::popcount(shapes_of(right) & ~shapes_of(own_)), outputs(right) - outputs(own_)};
  }

  /// Which shapes the file makes right as it is.
  unsigned run_own() {
    const auto right = run({{}});
    return own_ = right.empty() ? 0 : right.front();
  }

  /// What each of these makes right, as mendable.hpp tells it; fewer results if the program fails
  /// too often.
  std::vector<unsigned> run(const std::vector<Choices>& edits) {
    std::vector<unsigned> right;
    while (right.size() < edits.size() && restarts_ < kMostRestarts && endless_ < kMostEndless &&
           used_before_ + used() < kMostSeconds) {
      const std::size_t end = std::min(edits.size(), right.size() + kInOneCall);
      run_some({edits.begin() + static_cast<std::ptrdiff_t>(right.size()),
                edits.begin() + static_cast<std::ptrdiff_t>(end)},
               right);
    }
    return right;
  }

 private:
  static constexpr int kMostExamples = 10;  ///< as in mendable.hpp
  static unsigned shapes_of(unsigned right) { return right & ((1U << kMostExamples) - 1); }

  void run_some(const std::vector<Choices>& edits, std::vector<unsigned>& right) {
    std::vector<float> list = list_;
    list.push_back(static_cast<float>(shapes_of(own_)));
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
  std::size_t most_wrong_;  ///< then an edit is tried no further
  unsigned own_ = 0;
  std::vector<float> list_;
  int restarts_ = 0;
  int endless_ = 0;
  double used_before_ = 0.0;  ///< by processes that have ended
};

std::string listed(const Choices& choices) {
  std::string text;
  for (const auto& [site, alternative] : choices) {
    text += (text.empty() ? "" : ",") + std::to_string(site) + ":" + std::to_string(alternative);
  }
  return text;
}

Mend mend_of(const std::vector<const Edit*>& edits, const std::string& file) {
  Mend mend{.file = file};
  for (const Edit* edit : edits) {
    mend.lines.insert(mend.lines.end(), edit->lines.begin(), edit->lines.end());
    mend.kind += (mend.kind.empty() ? "" : ", and ") + std::string(words_of(edit->kind));
    if (!mend.before.empty()) mend.before += "\n", mend.after += "\n";
    mend.before += edit->before;
    mend.after += edit->after;
  }
  std::ranges::sort(mend.lines);
  mend.lines.erase(std::ranges::unique(mend.lines).begin(), mend.lines.end());
  return mend;
}

bool share_a_site(const Edit& a, const Edit& b) {
  return std::ranges::any_of(a.choices, [&](const auto& own) {
    return std::ranges::any_of(b.choices,
                               [&](const auto& other) { return own.first == other.first; });
  });
}

Choices joined(const std::vector<const Edit*>& edits) {
  Choices all;
  for (const Edit* each : edits) all.insert(all.end(), each->choices.begin(), each->choices.end());
  return all;
}

using Changes = std::vector<const Edit*>;  ///< edits that are made together

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
  std::vector<unsigned> right = trials.run(choices);
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (trials.is_all(right[i])) mends.push_back(tried[i]);
  }
  return right;
}

// Single edits; where none is enough, two of which one alone makes more outputs right.
std::vector<Changes> search(Trials& trials, const std::vector<Edit>& edits) {
  std::vector<Changes> mends;
  if (trials.is_all(trials.run_own())) return mends;  // it shows at other shapes only
  std::vector<Changes> tried;
  for (const Edit& edit : edits) tried.push_back({&edit});
  const std::vector<unsigned> right = try_all(trials, tried, mends);
  if (!mends.empty()) return mends;
  using Gain = std::pair<std::pair<int, int>, const Edit*>;
  std::vector<Gain> gains;
  for (std::size_t i = 0; i < right.size(); ++i)
    gains.emplace_back(trials.gain(right[i]), tried[i].front());
  std::ranges::stable_sort(gains, std::greater{}, &Gain::first);
  std::vector<Changes> pairs;
  for (std::size_t a = 0; a < std::min(kMostPartners, gains.size()); ++a) {
    const auto& [gain, first] = gains[a];
    if (gain <= std::pair(0, 0)) break;
    for (const auto& [other, second] : gains) {
      if (pairs.size() < kMostPairs && !share_a_site(*first, *second)) {
        pairs.push_back({first, second});
      }
    }
  }
  try_all(trials, pairs, mends);
  return mends;
}

// By their lines, the shortest first, without those of which a part of the lines is enough.
std::map<std::vector<std::size_t>, std::vector<Changes>> by_lines(
    const std::vector<Changes>& mends) {
  std::map<std::vector<std::size_t>, std::vector<Changes>> all;
  const auto length = [](const Changes& each) { return mend_of(each, {}).after.size(); };
  for (const Changes& each : mends) all[mend_of(each, {}).lines].push_back(each);
  for (auto& [lines, own] : all) std::ranges::stable_sort(own, {}, length);
  std::erase_if(all, [&](const auto& each) {
    return std::ranges::any_of(all, [&](const auto& other) {
      return other.first.size() < each.first.size() &&
             std::ranges::includes(each.first, other.first);
    });
  });
  return all;
}

/// Whether changes make every case right, with arrays that begin and end at guard pages, with
/// several threads, and with those of kernels in both orders.
class Confirmation {
 public:
  Confirmation(Submission& submission, const Wrong& wrong)
      : submission_(submission), wrong_(wrong) {
    for (ElementCase each : wrong.cases) {
      each.probe = ElementCase::Probe::kKnown;
      if (each.shape.multiply_adds() <= kLargestCase) cases_.push_back(each);
    }
    if (wrong.runs_kernels) orders_.emplace_back("CONVLAB_EMU_ORDER=reverse");
  }

  bool confirms(const Changes& changes) {
    return std::ranges::all_of(orders_, [&](const std::string& order) {
      submission_.set_environment(
          {"CONVLAB_MEND=" + listed(joined(changes)), "OMP_NUM_THREADS=4", order});
      return !first_finding(submission_, wrong_.stage, cases_, wrong_.seed);
    });
  }

 private:
  Submission& submission_;
  const Wrong& wrong_;
  std::vector<ElementCase> cases_;
  std::vector<std::string> orders_ = {"CONVLAB_EMU_ORDER=forward"};
};

}  // namespace

std::vector<Mend> find_mends(const Wrong& wrong, const BuildEdited& build) {
  EditableFile file(wrong.text, wrong.runs_kernels);
  file.keep_at_most(kMostEdits);
  if (file.edits().empty()) return {};
  const std::filesystem::path program = build_all(file, build);
  if (program.empty()) return {};
  const std::vector<Edit> edits = file.edits();
  const std::vector<ConvShape> shapes = shapes_for(wrong);
  Submission submission(program, kCallLimit);
  submission.settings.watches = false;
  // Of an emulated device the trials see the numbers themselves: a kernel then runs in the process
  // that launches it, and costs a hundredth.
  submission.settings.withheld = Withheld::kNothing;
  submission.set_environment(
      {"OMP_NUM_THREADS=1", "CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TIMEOUT=0.25"});
  Trials trials(submission, wrong.stage, shapes, wrong.seed,
                wrong.runs_kernels ? kMostWrongOfKernels : shapes.size());
  const auto mends = by_lines(search(trials, edits));
  Confirmation confirmation(submission, wrong);
  std::vector<Mend> confirmed;
  std::size_t runs = 0;
  for (const auto& [lines, all] : mends) {
    std::size_t found = 0;
    for (const Changes& each : all) {
      if (found == kMostOfLine || runs++ == kMostConfirmed) break;
      if (!confirmation.confirms(each)) continue;
      confirmed.push_back(mend_of(each, wrong.file));
      ++found;
    }
  }
  std::ranges::stable_sort(confirmed, {}, [](const Mend& each) { return each.lines.size(); });
  std::set<std::vector<std::size_t>> places;
  for (const Mend& each : confirmed) places.insert(each.lines);
  return places.size() > kMostLines ? std::vector<Mend>() : confirmed;
}

}  // namespace convlab::grader::mend
