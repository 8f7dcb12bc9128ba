#include "grader/cli/puzzles.hpp"

#include <algorithm>
#include <cctype>

#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

// A kernel size of 1 makes a scaled copy; one of 5 whose filters have a single row makes a
// convolution of one dimension. Sizes are multiples of a block, and not.
std::vector<ElementCase> cases_of(const std::string& stage) {
  constexpr int kBlocks = 256;
  constexpr int kNoBlocks = 1000;
  if (stage == "index") return {{"256 numbers", {1, 1, 1, 1, kBlocks, 1, 1}, true}};
  if (stage == "bounds" || stage == "copy-back") {
    return {{"1000 numbers", {1, 1, 1, 1, kNoBlocks, 1, 1}, true}};
  }
  const int channels = stage == "second-barrier" ? 3 : 1;
  std::vector<ElementCase> cases;
  for (const int width : {kBlocks + 4, kNoBlocks}) {
    ElementCase test{std::to_string(width) + " numbers", {1, 1, channels, 5, width, 5, 1}, true};
    test.one_row = true;
    cases.push_back(test);
  }
  return cases;
}

std::optional<Finding> check_puzzle(Submission& submission, const StageInfo& stage) {
  constexpr std::uint64_t kSeed = 11;
  for (const ElementCase& test : cases_of(stage.id)) {
    if (auto found = run_case(submission, stage, test, kSeed).finding) return found;
    // A missing barrier may show in another order only.
    if (submission.device().device != Device::kEmulated) continue;
    submission.set_environment({"CONVLAB_EMU_ORDER=reverse"});
    auto found = run_case(submission, stage, test, kSeed).finding;
    submission.set_environment({});
    if (found) {
      return finding("E-race",
                     "Right in the usual order. With threads in reverse order: " + found->seen);
    }
  }
  if (stage.id != "copy-back") return std::nullopt;  // the only one that allocates
  return check_leaks(submission, stage, cases_of(stage.id).front().shape, kSeed);
}

}  // namespace

std::vector<std::filesystem::path> puzzle_files(const CourseMilestone& milestone) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(milestone.folder / "puzzles", none)) {
    const std::string name = entry.path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string stage_of_puzzle(const std::filesystem::path& file) {
  std::string stage = file.stem().string();
  stage.erase(0, stage.find('_') + 1);
  std::ranges::replace(stage, '_', '-');
  return stage;
}

PuzzleWalk walk_puzzles(const std::vector<std::filesystem::path>& files,
                        const std::filesystem::path& program,
                        const std::function<bool(const std::filesystem::path&)>& is_fresh) {
  PuzzleWalk walk{.all = static_cast<int>(files.size())};
  Submission submission(program);
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages) || stages.size() != files.size()) return walk;
  for (std::size_t i = 0; i < files.size(); ++i) {
    walk.waits = files[i].string();
    walk.title = stages[i].title;
    // The handed-out puzzle lacks only its last barrier, so it may seem to work.
    if (is_fresh(files[i])) return walk;
    submission.set_sources(SourceText({files[i]}));  // kernels of several puzzles have one name
    walk.finding = check_puzzle(submission, stages[i]);
    if (walk.finding) return walk;
    ++walk.solved;
  }
  walk.waits.clear();
  return walk;
}

}  // namespace convlab::grader
