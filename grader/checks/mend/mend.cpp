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
constexpr std::size_t kMostEdits = 8000;
constexpr std::size_t kMostPairs = 4000;
constexpr std::size_t kMostPartners = 3;  ///< edits with which pairs are tried
constexpr std::size_t kInOneCall = 500;
constexpr int kMostRestarts = 100;
constexpr int kMostEndless = 2;  ///< trials without an end, each of which takes seconds
constexpr std::size_t kMostConfirmed = 10;
constexpr std::int64_t kLargestExample = 200'000;  ///< products
constexpr std::int64_t kLargestCase = 700'000;
constexpr std::chrono::seconds kCallLimit{20};

// Sizes that differ from each other; the last ones are as simple as possible.
constexpr ConvShape kShapes[] = {
    {2, 3, 2, 5, 7, 3, 1}, {1, 2, 3, 9, 6, 2, 2}, {3, 2, 4, 4, 5, 1, 1}, {2, 2, 2, 12, 10, 2, 3},
    {1, 4, 2, 8, 9, 5, 1}, {1, 1, 1, 1, 1, 1, 1}, {1, 2, 1, 7, 7, 7, 1}};

// The lines of the edited file in which the compiler found errors, or which use a template of a
// header that has one with their types.
std::set<std::size_t> lines_with_errors(const std::string& log, const std::string& file) {
  std::set<std::size_t> lines;
  std::size_t user = 0;
  for (const std::string& line : lines_of(log)) {
    const auto mark = std::min(line.find(": error: "), line.find(":   required from "));
    const auto name = line.find(file + ":");
    if (mark == std::string::npos) continue;
    if (name < mark) {
      user = static_cast<std::size_t>(std::atol(line.c_str() + name + file.size() + 1));
    }
    if (line[mark + 2] == 'e') lines.insert(user);
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
    if (!file.drop_lines(lines_with_errors(read_text(log), name))) return {};
  }
  return {};
}

using Choices = std::vector<std::pair<std::size_t, std::size_t>>;

/// Runs edits in the edited program.
class Trials {
 public:
  Trials(Submission& submission, const StageInfo& stage, const std::vector<ConvShape>& shapes,
         std::uint64_t seed)
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

  [[nodiscard]] std::size_t count() const { return count_; }

  /// How many shapes each of these makes right; fewer results if the program fails too often.
  std::vector<std::size_t> run(const std::vector<Choices>& edits) {
    std::vector<std::size_t> right;
    while (right.size() < edits.size() && restarts_ < kMostRestarts && endless_ < kMostEndless) {
      const std::size_t end = std::min(edits.size(), right.size() + kInOneCall);
      run_some({edits.begin() + static_cast<std::ptrdiff_t>(right.size()),
                edits.begin() + static_cast<std::ptrdiff_t>(end)},
               right);
    }
    return right;
  }

 private:
  void run_some(const std::vector<Choices>& edits, std::vector<std::size_t>& right) {
    std::vector<float> list = list_;
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
        submission_.restart();
        return;
      }
      right.push_back(static_cast<std::size_t>(arrays.output[i]));
    }
  }

  static bool is_endless(const Call& call) {
    const auto& failure = call.failure;
    return failure && (failure->kind == Failure::Kind::kTimeout ||
                       (failure->fault && failure->fault->kind == FaultKind::kKernelTime));
  }

  Submission& submission_;
  const StageInfo& stage_;
  std::size_t count_;
  std::vector<float> list_;
  int restarts_ = 0;
  int endless_ = 0;
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

}  // namespace

std::vector<Mend> find_mends(const Wrong& wrong, const BuildEdited& build) {
  EditableFile file(wrong.text);
  if (file.edits().empty() || file.edits().size() > kMostEdits) return {};
  const std::filesystem::path program = build_all(file, build);
  if (program.empty()) return {};
  const std::vector<Edit> edits = file.edits();
  std::vector<ConvShape> shapes(std::begin(kShapes), std::end(kShapes));
  if (wrong.failing && wrong.failing->multiply_adds() <= kLargestExample) {
    shapes.push_back(*wrong.failing);  // last: mendable.hpp tries it where all others are right
  }
  Submission submission(program, kCallLimit);
  submission.settings.watches = false;
  submission.set_environment({"OMP_NUM_THREADS=1"});
  Trials trials(submission, wrong.stage, shapes, wrong.seed);
  std::vector<std::vector<const Edit*>> tried = {{}};
  for (const Edit& edit : edits) tried.push_back({&edit});
  const auto run = [&] {
    std::vector<Choices> choices;
    for (const auto& each : tried) choices.push_back(joined(each));
    return trials.run(choices);
  };
  std::vector<std::size_t> right = run();
  if (right.empty() || right.front() == trials.count()) return {};  // it shows at other shapes only
  std::vector<std::vector<const Edit*>> mends;
  const auto collect = [&] {
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i] == trials.count()) mends.push_back(tried[i]);
    }
  };
  collect();
  if (mends.empty()) {
    std::vector<std::pair<std::size_t, const Edit*>> better;
    for (std::size_t i = 1; i < right.size(); ++i) {
      if (right[i] > right.front()) better.emplace_back(right[i], tried[i].front());
    }
    std::ranges::stable_sort(better, std::greater{}, &std::pair<std::size_t, const Edit*>::first);
    if (better.size() > kMostPartners) better.resize(kMostPartners);
    tried.clear();
    for (const auto& [count, first] : better) {
      for (const Edit& second : edits) {
        if (tried.size() < kMostPairs && !share_a_site(*first, second)) {
          tried.push_back({first, &second});
        }
      }
    }
    right = run();
    collect();
  }
  std::map<std::vector<std::size_t>, std::vector<std::vector<const Edit*>>> by_lines;
  for (const auto& each : mends) by_lines[mend_of(each, {}).lines].push_back(each);
  std::vector<ElementCase> cases;
  for (ElementCase each : wrong.cases) {
    each.probe = ElementCase::Probe::kKnown;
    if (each.shape.multiply_adds() <= kLargestCase) cases.push_back(each);
  }
  std::vector<Mend> confirmed;
  std::size_t runs = 0;
  for (const auto& [lines, all] : by_lines) {
    std::size_t found = 0;
    for (const auto& each : all) {
      if (found == 3 || runs++ == kMostConfirmed * kMostLines) break;
      submission.set_environment({"CONVLAB_MEND=" + listed(joined(each)), "OMP_NUM_THREADS=4"});
      if (first_finding(submission, wrong.stage, cases, wrong.seed)) continue;
      confirmed.push_back(mend_of(each, wrong.file));
      ++found;
    }
  }
  std::set<std::vector<std::size_t>> places;
  for (const Mend& each : confirmed) places.insert(each.lines);
  return places.size() > kMostLines ? std::vector<Mend>() : confirmed;
}

}  // namespace convlab::grader::mend
