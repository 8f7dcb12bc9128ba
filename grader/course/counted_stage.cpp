#include "grader/course/counted_stage.hpp"

#include <algorithm>
#include <chrono>

#include "common/base/address_sanitizer.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/course/puzzles.hpp"

namespace convlab::grader {

namespace fs = std::filesystem;

namespace {

// The stages that a source registers: .id = "half", Stage stage("half" or ({"half". Another stage's
// .baseline names it, too.
std::vector<std::string> registered_in(const std::string& text) {
  std::vector<std::string> ids;
  for (auto begin = text.find('"'); begin != std::string::npos; begin = text.find('"', begin + 1)) {
    const auto end = text.find('"', begin + 1);
    if (end == std::string::npos) break;
    const auto statement = text.find_last_of(";}#", begin) + 1;
    std::string before = text.substr(statement, begin - statement);
    before.resize(before.find_last_not_of(" \n") + 1);
    const bool is_first = before.ends_with("(") || before.ends_with("{");
    if (before.ends_with(".id =") || (is_first && before.find("Stage") != std::string::npos)) {
      ids.push_back(text.substr(begin + 1, end - begin - 1));
    }
    begin = end;
  }
  return ids;
}

// The file of a stage in a milestone's folder: the one that registers it, or that has its name.
// @throws UsageError with the known ones if there is none
SubmittedSources sources_of_stage(const CourseMilestone& milestone, const std::string& solution,
                                  const std::string& stage) {
  const bool is_reference = solution == "reference";
  const fs::path folder =
      is_reference ? course_folder() / "reference" / "solutions" / milestone.folder.filename()
                   : milestone.folder;
  // Any stage that can be run: one that is not of the milestone's table has a file all the same.
  auto file = file_of_stage(folder, stage);
  const std::vector<std::string> known = stage_names(milestone);
  std::vector<std::string> registered;
  for (const auto& place : {folder, folder / "stages"}) {
    if (stage.empty() || !fs::exists(place)) continue;
    for (const auto& entry : fs::directory_iterator(place)) {
      if (entry.path().extension() != ".cu") continue;
      const std::vector<std::string> ids = registered_in(read_text(entry.path()));
      if (std::ranges::find(ids, stage) != ids.end()) file = entry.path();
      registered.insert(registered.end(), ids.begin(), ids.end());
    }
  }
  const auto is_among = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, stage) != names.end();
  };
  if (is_reference && !stage.empty() && !is_among(registered) && !is_among(known)) {
    const std::set<std::string> names(registered.begin(), registered.end());
    throw UsageError(unknown_name("stage", stage, {names.begin(), names.end()},
                                  " in the reference solution of " + milestone.id));
  }
  if (file) return is_reference ? reference_file(*file) : with_headers(*file, folder, folder);
  if (!is_among(known)) throw UsageError(unknown_stage(milestone, stage, known));
  throw UsageError("No file in " + display_path(folder) + " has the name of " + stage +
                   "; name yours: --solution FILE.");
}

}  // namespace

void require_kernels(const std::string& milestone) {
  if (milestone != "m1") return;
  throw UsageError(
      "This is for CUDA kernels, and m1 has none; build/bin/grader report m1 shows its times.");
}

CountedWork counted_work(const CourseMilestone& milestone, const CountedOptions& options) {
  require_kernels(milestone.id);
  CountedWork work{.stage = options.stage, .network = options.network, .layer = options.layer};
  if (is_source_file(options.solution)) {
    work.submitted = sources_of(options.solution, false);
    return work;
  }
  require_solution(options.solution);
  const bool is_students = options.solution == "student";
  if (is_students && !options.stage.empty()) require_stage(milestone, options.stage);
  const auto puzzle = is_students ? find_puzzle(milestone, options.stage) : std::nullopt;
  if (puzzle) {
    work.submitted = only(puzzle->file);
    work.shape = first_shape(milestone, *puzzle);
  } else if (options.stage.empty() && milestone.id == "m4") {
    throw name_a_stage(milestone);
  } else {
    work.submitted = sources_of_stage(milestone, options.solution, options.stage);
  }
  return work;
}

TracedStage traced_stage(const CountedWork& work, ProgressLine& progress) {
  if (CONVLAB_ADDRESS_SANITIZER) {
    throw UsageError(
        "A build with sanitizers cannot count or draw accesses; use one without: "
        "cmake --preset lab");
  }
  TracedStage traced;
  const auto layers =
      work.shape ? std::vector{*work.shape} : load_preset(work.network).conv_shapes(1);
  const std::size_t layer = work.layer == 0 ? layers.size() : static_cast<std::size_t>(work.layer);
  if (layer > layers.size()) {
    throw UsageError("Network " + work.network + " has " + std::to_string(layers.size()) +
                     " convolutions.");
  }
  traced.layer = work.shape ? 0 : static_cast<int>(layer);
  traced.shape = layers[layer - 1];
  const fs::path& file = work.submitted.sources.front();
  progress.show("building " + file.filename().string() + " so that its accesses are seen");
  build_custom_submission_parts();
  const BuiltSubmission built = build_submission(
      work.submitted, {.build = build_folder(), .device = Device::kEmulated, .traced = true});
  if (built.problem) {
    traced.finding = explain(*built.problem, work.submitted);
    return traced;
  }
  traced.texts = work.submitted.headers;
  traced.texts.insert(traced.texts.end(), work.submitted.sources.begin(),
                      work.submitted.sources.end());
  constexpr std::chrono::minutes kPatience{5};  // counting takes ten times as long as running
  traced.submission = std::make_unique<Submission>(built.program, kPatience);
  traced.submission->set_sources(SourceText(traced.texts));
  std::vector<StageInfo> stages;
  if (const auto failure = traced.submission->list_stages(stages)) {
    traced.finding = explain(*failure, "the list of stages");
    return traced;
  }
  std::vector<std::string> known;
  for (const StageInfo& stage : stages) known.push_back(stage.id);
  const auto stage = work.stage.empty() && stages.size() == 1
                         ? stages.begin()
                         : std::ranges::find(stages, work.stage, &StageInfo::id);
  if (stages.empty()) {
    throw EnvironmentError(display_path(file) +
                           " registers no stage for an emulated device; a stage that needs a "
                           "library of the GPU cannot be counted.");
  }
  if (stage == stages.end()) {
    throw UsageError(unknown_name("stage", work.stage, known, " in " + display_path(file)));
  }
  traced.stage = *stage;
  return traced;
}

SourceText used_sources(const TracedStage& traced, const std::set<std::string>& files) {
  std::vector<fs::path> used;
  for (const fs::path& text : traced.texts) {
    if (files.contains(text.filename())) used.push_back(text);
  }
  return SourceText(used.empty() ? traced.texts : used);
}

CountedStage counted_stage(const CountedWork& work) {
  ProgressLine progress;
  TracedStage traced = traced_stage(work, progress);
  CountedStage counted{.finding = traced.finding, .layer = traced.layer};
  if (traced.finding) return counted;
  progress.show(work.shape ? "counting"
                           : "counting in convolution " + std::to_string(traced.layer));
  counted.finding = count_stage(*traced.submission, traced.stage, traced.shape, counted.counts);
  std::set<std::string> used;
  for (const DeviceLaunch& launch : counted.counts.launches) used.insert(launch.file);
  for (const AccessNote& note : counted.counts.counted.accesses) used.insert(note.file);
  counted.sources = used_sources(traced, used);
  return counted;
}

}  // namespace convlab::grader
