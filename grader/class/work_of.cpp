#include "grader/class/work_of.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "common/error/error.hpp"
#include "common/process/run_process.hpp"
#include "grader/cli/handout.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

/// A milestone with its files as they were handed out.
struct HandedOut {
  CourseMilestone milestone;
  std::vector<SubmittedFile> files;
};

// Some archives contain milestones/… directly, others in a folder.
std::string below_milestones(const std::string& path) {
  const auto at = path.find("milestones/");
  const bool begins = at == 0 || (at != std::string::npos && path[at - 1] == '/');
  return begins ? path.substr(at) : std::string();
}

bool is_cuda(const std::string& path) {
  return path.ends_with(".cu");
}

// A milestone is in CUDA if its hand-out is.
bool uses_cuda(const HandedOut& handed_out) {
  return std::ranges::any_of(handed_out.files,
                             [](const SubmittedFile& file) { return is_cuda(file.path); });
}

bool is_unchanged(const SubmittedFile& file, const std::string& path, const HandedOut& handed_out) {
  return std::ranges::find(handed_out.files, SubmittedFile{path, file.text}) !=
         handed_out.files.end();
}

std::string folder_of(const HandedOut& handed_out) {
  return "milestones/" + handed_out.milestone.folder.filename().string() + "/";
}

/// The files of one milestone in a submission, by their places in the tree.
struct Part {
  std::vector<SubmittedFile> changed{};
  std::vector<SubmittedFile> unchanged{};
  std::vector<SubmittedFile> puzzles{};  // as in MilestoneWork
};

Part part_of(const std::vector<SubmittedFile>& files, const HandedOut& handed_out) {
  Part part;
  std::map<std::string, std::string> puzzles;
  for (const SubmittedFile& file : files) {
    const std::string path = below_milestones(file.path);
    if (!path.starts_with(folder_of(handed_out)) || !has_source_name(path)) continue;
    const bool unchanged = is_unchanged(file, path, handed_out);
    if (is_puzzle(path)) {
      if (!unchanged) puzzles[path] = file.text;
    } else {
      (unchanged ? part.unchanged : part.changed).push_back({path, file.text});
    }
  }
  if (puzzles.empty()) return part;
  for (const SubmittedFile& file : handed_out.files) {
    if (!is_puzzle(file.path)) continue;
    const auto own = puzzles.find(file.path);
    part.puzzles.push_back({file.path, own == puzzles.end() ? file.text : own->second});
  }
  return part;
}

std::vector<HandedOut> handed_out_milestones() {
  std::vector<HandedOut> all;
  for (CourseMilestone& each : milestones()) {
    std::vector<SubmittedFile> files;
    for (const HandoutFile& file : handout_files(each)) {
      files.push_back({file.path, pristine_text(file).value_or("")});
    }
    all.push_back({std::move(each), std::move(files)});
  }
  return all;
}

std::string names_of(const std::vector<SubmittedFile>& files) {
  constexpr std::size_t kShown = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(files.size(), kShown); ++i) {
    names += (i == 0 ? "" : ", ") + files[i].path;
  }
  return names + (files.size() > kShown ? ", …" : "");
}

// Files outside the workbook's folders, for example a single one with the course interface.
MilestoneWork loose_work(const std::vector<SubmittedFile>& files, std::string milestone,
                         const std::vector<HandedOut>& all) {
  std::vector<SubmittedFile> sources;
  for (const SubmittedFile& file : files) {
    if (has_source_name(file.path)) sources.push_back(file);
  }
  if (milestone.empty() && sources.size() == 1) {
    milestone = milestone_in(fs::path(sources.front().path).filename().string());
    const auto is_named = [&](const HandedOut& each) { return each.milestone.id == milestone; };
    if (std::ranges::none_of(all, is_named)) milestone.clear();
    if (milestone.empty() && !is_cuda(sources.front().path)) milestone = "m1";
  }
  if (milestone.empty()) {
    throw RefusedSubmission(
        "It does not say which milestone it is of: name it like doejane-m2.cu, or grade it with "
        "--milestone.");
  }
  const auto wanted = std::ranges::find_if(
      all, [&](const HandedOut& each) { return each.milestone.id == milestone; });
  const bool cuda = wanted != all.end() && uses_cuda(*wanted);
  std::erase_if(sources, [&](const SubmittedFile& file) { return is_cuda(file.path) != cuda; });
  const std::string kind = cuda ? ".cu" : ".cpp";
  if (sources.empty()) {
    throw RefusedSubmission("It holds no " + kind + " file, which is what " + milestone +
                            " consists of.");
  }
  if (sources.size() > 1) {
    throw RefusedSubmission("It holds " + std::to_string(sources.size()) + " " + kind + " files (" +
                            names_of(sources) + ") and none of them lies in " +
                            (wanted == all.end() ? "milestones/" : folder_of(*wanted)) + ".");
  }
  return {milestone, sources, {}};
}

}  // namespace

std::string milestone_in(const std::string& name) {
  static const std::regex kMilestone(R"((^|[^a-z0-9])(m[1-9])([^0-9]|$))");
  std::smatch parts;
  return std::regex_search(name, parts, kMilestone) ? parts[2].str() : "";
}

std::vector<MilestoneWork> work_of(const std::vector<SubmittedFile>& files,
                                   const std::string& milestone) {
  static const std::vector<HandedOut> all = handed_out_milestones();
  std::vector<MilestoneWork> works;
  std::string unchanged;
  for (const HandedOut& each : all) {
    if (!milestone.empty() && each.milestone.id != milestone) continue;
    Part part = part_of(files, each);
    if (!part.changed.empty()) {
      works.push_back({each.milestone.id, std::move(part.changed), std::move(part.puzzles)});
    } else if (!part.unchanged.empty() && !part.puzzles.empty()) {
      works.push_back({each.milestone.id, std::move(part.unchanged), std::move(part.puzzles)});
    } else if (!part.unchanged.empty()) {
      unchanged += (unchanged.empty() ? "" : ", ") + each.milestone.id;
    }
  }
  if (!works.empty()) return works;
  if (!unchanged.empty()) {
    throw RefusedSubmission("Every file of " + unchanged + " in it is as it was handed out.");
  }
  return {loose_work(files, milestone, all)};
}

std::string digest_of(const MilestoneWork& work) {
  std::string text = work.milestone;
  std::vector<SubmittedFile> files = work.files;
  files.insert(files.end(), work.puzzles.begin(), work.puzzles.end());
  for (const SubmittedFile& file : files) {
    text += '\n' + file.path + '\n' + std::to_string(file.text.size()) + '\n' + file.text;
  }
  const FinishedProcess run = run_process({.words = {"sha256sum"}, .input = text});
  if (!run.succeeded()) {
    throw EnvironmentError("sha256sum failed: " + trimmed_end(run.errors) + ".");
  }
  return run.output.substr(0, run.output.find(' '));
}

}  // namespace convlab::grader
