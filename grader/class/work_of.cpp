#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "common/base/printable.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/edition.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/course/course.hpp"
#include "grader/report/table.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

/// A milestone with its files as they were handed out.
struct HandedOut {
  std::string milestone;
  std::string folder;  // "milestones/m1_cpu_baseline/"
  std::vector<SubmittedFile> files{};
  bool cuda = false;  // a milestone is in CUDA if its hand-out is
  int stages = 0;     // where one file is handed out, one is handed in
};

// Where milestones/… begins in a path: some archives contain it directly, others in a folder. The
// last one counts.
std::size_t begin_of_milestones(const std::string& path) {
  const auto at = path.rfind("milestones/");
  return at == 0 || (at != std::string::npos && path[at - 1] == '/') ? at : std::string::npos;
}

std::ptrdiff_t depth_of(const std::string& path) {
  return std::ranges::count(path, '/');
}

bool is_cuda(const std::string& path) {
  return path.ends_with(".cu");
}

/// The files of one milestone in a submission, by their places in the tree.
struct Part {
  std::vector<SubmittedFile> changed{};
  std::vector<SubmittedFile> unchanged{};
  std::vector<SubmittedFile> added{};  // not handed out
  std::vector<SubmittedFile> headers{};
  std::vector<SubmittedFile> puzzles{};  // as in MilestoneWork
};

// Whether a source registers a stage or implements the course interface; tests and tools do not.
bool holds_convolution(const std::string& text) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"Stage<", "CpuStage", "conv_forward_gpu",
                                         "conv_forward_cpu", "conv_forward_kernel"},
      [&](const char* word) { return text.find(word) != std::string::npos; });
}

// The files of a milestone, from milestones/ on, out of the tree that lies nearest to the top: the
// others are backups of it.
std::vector<SubmittedFile> tree_of(const std::vector<SubmittedFile>& files,
                                   const std::string& folder) {
  std::map<std::string, std::vector<SubmittedFile>> trees;
  for (const SubmittedFile& file : files) {
    const auto begin = begin_of_milestones(file.path);
    if (begin == std::string::npos) continue;
    const std::string path = file.path.substr(begin);
    if (path.starts_with(folder)) trees[file.path.substr(0, begin)].push_back({path, file.text});
  }
  const auto nearest =
      std::ranges::min_element(trees, {}, [](const auto& tree) { return depth_of(tree.first); });
  if (nearest == trees.end()) return {};
  for (const auto& [root, tree] : trees) {
    if (root == nearest->first || depth_of(root) > depth_of(nearest->first)) continue;
    throw RefusedSubmission("It holds " + folder + " twice, in '" + short_line(nearest->first, 80) +
                            "' and in '" + short_line(root, 80) + "'; hand in one of them.");
  }
  return nearest->second;
}

Part part_of(const std::vector<SubmittedFile>& files, const HandedOut& handed_out) {
  Part part;
  std::map<std::string, std::string> puzzles;
  for (const SubmittedFile& file : tree_of(files, handed_out.folder)) {
    const std::string& path = file.path;
    const bool unchanged = std::ranges::find(handed_out.files, file) != handed_out.files.end();
    if (!has_source_name(path)) {
      part.headers.push_back(file);
    } else if (is_cuda(path) != handed_out.cuda) {
      continue;
    } else if (is_puzzle(path)) {
      if (!unchanged) puzzles[path] = file.text;
    } else if (std::ranges::find(handed_out.files, path, &SubmittedFile::path) ==
               handed_out.files.end()) {
      if (holds_convolution(file.text)) part.added.push_back(file);
    } else {
      (unchanged ? part.unchanged : part.changed).push_back(file);
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
  for (const CourseMilestone& each : milestones()) {
    HandedOut& handed_out =
        all.emplace_back(HandedOut{each.id, "milestones/" + each.folder.filename().string() + "/"});
    for (const HandoutFile& file : handout_files(each)) {
      handed_out.files.push_back({file.path, pristine_text(file).value_or("")});
      handed_out.cuda = handed_out.cuda || is_cuda(file.path);
      handed_out.stages += is_puzzle(file.path) ? 0 : 1;
    }
  }
  return all;
}

// Leaves out what lies beside the file that is meant: tests, other editions and copies of it.
void keep_meant(std::vector<SubmittedFile>& sources) {
  const auto keep = [&](const auto& is_wanted) {
    if (sources.size() > 1 && std::ranges::any_of(sources, is_wanted)) {
      std::erase_if(sources, [&](const SubmittedFile& file) { return !is_wanted(file); });
    }
  };
  const auto stem_of = [](const SubmittedFile& file) {
    return fs::path(file.path).stem().string();
  };
  keep([](const SubmittedFile& file) { return holds_convolution(file.text); });
  // The names that are asked.
  keep([&](const SubmittedFile& file) {
    const std::string stem = stem_of(file);
    return stem == "conv_forward" || stem == "new-forward";
  });
  std::ptrdiff_t least = PTRDIFF_MAX;
  for (const SubmittedFile& file : sources) least = std::min(least, depth_of(file.path));
  keep([&](const SubmittedFile& file) { return depth_of(file.path) == least; });
  // "conv (copy)", "conv - Copy", "Copy of conv", "conv_old": all contain "conv".
  keep([&](const SubmittedFile& file) {
    return std::ranges::all_of(sources, [&](const SubmittedFile& other) {
      return stem_of(other).find(stem_of(file)) != std::string::npos;
    });
  });
}

[[noreturn]] void refuse_several(const std::vector<SubmittedFile>& files, const std::string& why) {
  const std::string names = joined(files, ", ", &SubmittedFile::path);
  throw RefusedSubmission("It holds " + std::to_string(files.size()) + " " +
                          fs::path(files.front().path).extension().string() + " files (" +
                          short_line(names, 240) + ")" + why);
}

// Files outside the workbook's folders, for example a single one with the course interface.
MilestoneWork loose_work(const std::vector<SubmittedFile>& files, std::string milestone,
                         const std::string& place, const std::vector<HandedOut>& all) {
  std::vector<SubmittedFile> sources;
  std::vector<SubmittedFile> headers;
  for (const SubmittedFile& file : files) {
    (has_source_name(file.path) ? sources : headers).push_back(file);
  }
  const auto is_known = [&](const std::string& id) {
    return std::ranges::find(all, id, &HandedOut::milestone) != all.end();
  };
  if (milestone.empty()) {
    std::set<std::string> named;
    for (const SubmittedFile& file : sources) {
      const std::string id = milestone_in(fs::path(file.path).filename().string());
      if (is_known(id)) named.insert(id);
    }
    if (named.empty() && is_known(milestone_in(place))) named = {milestone_in(place)};
    if (named.size() == 1) milestone = *named.begin();
    const bool any_cuda = std::ranges::any_of(sources, is_cuda, &SubmittedFile::path);
    if (named.empty() && !any_cuda) milestone = "m1";
  }
  if (milestone.empty()) {
    throw RefusedSubmission(
        "It does not say which milestone it is of: name it like doejane-m2.cu, or grade it with "
        "--milestone.");
  }
  const auto wanted = std::ranges::find(all, milestone, &HandedOut::milestone);
  const bool cuda = wanted != all.end() && wanted->cuda;
  std::erase_if(sources, [&](const SubmittedFile& file) { return is_cuda(file.path) != cuda; });
  keep_meant(sources);
  const std::string kind = cuda ? ".cu" : ".cpp or .cc";
  if (sources.empty()) {
    throw RefusedSubmission("It holds no " + kind + " file, which is what " + milestone +
                            " consists of.");
  }
  if (sources.size() > 1) {
    refuse_several(sources, " and none of them lies in " +
                                (wanted == all.end() ? "milestones/" : wanted->folder) + ".");
  }
  return {.milestone = milestone, .files = sources, .headers = headers};
}

// Each file is written, compiled and kept, so the sum counts.
void require_small(const MilestoneWork& work) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const auto* files : {&work.files, &work.headers, &work.puzzles}) {
    count += files->size();
    for (const SubmittedFile& file : *files) bytes += file.text.size();
  }
  if (count <= kMostBuiltFiles && bytes <= kMostBuiltBytes) return;
  throw RefusedSubmission("For " + work.milestone + " it holds " + std::to_string(count) +
                          " sources and headers of " + std::to_string(bytes >> 10) +
                          " KiB; it may hold " + std::to_string(kMostBuiltFiles) + " of " +
                          std::to_string(kMostBuiltBytes >> 10) + " KiB together.");
}

// The edition that these rules or the files name; a tree of the workbook is none of the course.
std::optional<Edition> edition_for(const std::vector<std::string>& paths,
                                   const std::string& milestone, const std::string& rules,
                                   TreeNotes& notes) {
  if (const auto named = find_task(milestone)) return named->edition;
  const std::vector<std::string> names = edition_names();
  if (std::ranges::find(names, rules) != names.end()) return load_edition(rules);
  if (rules.empty()) notes.editions = editions_of(paths);
  if (notes.editions.empty()) return std::nullopt;
  return load_edition(notes.editions.back());
}

// Each file of a course's tree is one task, and stands alone: headers come from the course.
std::vector<MilestoneWork> tasks_of(const std::vector<SubmittedFile>& files,
                                    const std::string& milestone, const std::string& rules,
                                    TreeNotes& notes) {
  std::map<std::string, const SubmittedFile*> sources;
  std::vector<std::string> paths;
  for (const SubmittedFile& file : files) {
    if (begin_of_milestones(file.path) != std::string::npos) return {};
    if (!has_source_name(file.path)) continue;
    sources[file.path] = &file;
    paths.push_back(file.path);
  }
  const std::optional<Edition> edition = edition_for(paths, milestone, rules, notes);
  if (!edition) return {};
  const auto named = find_task(milestone);
  std::vector<MilestoneWork> works;
  std::set<std::string> known;
  try {
    for (const TaskFile& file : tasks_in(*edition, paths)) {
      sources.erase(file.path);
      const std::string id = edition->id_of(file.task);
      known.insert(file.task.milestone);
      const bool is_asked = named ? named->task.name == file.task.name
                                  : milestone.empty() || milestone == file.task.milestone;
      if (!is_asked) continue;
      const auto own = std::ranges::find(files, file.path, &SubmittedFile::path);
      works.push_back({.milestone = id, .files = {*own}});
    }
  } catch (const UsageError& error) {
    throw RefusedSubmission(error.what());
  }
  if (known.empty()) return {};
  if (works.empty()) {
    throw RefusedSubmission("It is a tree of " + edition->name + " and holds nothing for " +
                            milestone + "; it holds files for " + joined(known) +
                            " of the course.");
  }
  for (const auto& [path, file] : sources) {
    if (defines_course_interface(file->text)) notes.not_judged.push_back(path);
  }
  return works;
}

}  // namespace

std::string milestone_in(const std::string& name) {
  for (auto at = name.find('m'); at != std::string::npos; at = name.find('m', at + 1)) {
    const char before = at == 0 ? ' ' : name[at - 1];
    const bool begins = !is_digit(before) && (before < 'a' || before > 'z');
    const std::string number = digits_at(name, at + 1);
    if (begins && number.size() == 1 && number != "0") return "m" + number;
  }
  return "";
}

std::vector<MilestoneWork> work_of(const std::vector<SubmittedFile>& all_files,
                                   const std::string& milestone, const std::string& place,
                                   const std::string& rules, TreeNotes* wanted) {
  TreeNotes notes;
  std::vector<MilestoneWork> works = tasks_of(all_files, milestone, rules, notes);
  if (wanted != nullptr) *wanted = notes;
  if (!works.empty()) return works;
  static const std::vector<HandedOut> all = handed_out_milestones();
  std::vector<SubmittedFile> files = all_files;
  const auto taken = [&](const char* name) {
    std::string text;
    std::erase_if(files, [&](const SubmittedFile& file) {
      if (fs::path(file.path).filename() != name) return false;
      text = file.text;
      return true;
    });
    return text;
  };
  const std::string notebook = taken("notebook.json");
  const std::string history = taken("history.jsonl");
  std::vector<std::string> unchanged;
  for (const HandedOut& each : all) {
    if (!milestone.empty() && each.milestone != milestone) continue;
    Part part = part_of(files, each);
    if (part.changed.empty() && each.stages == 1) {
      keep_meant(part.added);
      if (part.added.size() > 1) {
        refuse_several(part.added, ", and " + each.milestone + " consists of one.");
      }
    }
    if (part.changed.empty()) part.changed = std::move(part.added);
    if (part.changed.empty() && !part.puzzles.empty()) part.changed = part.unchanged;
    if (!part.changed.empty()) {
      works.push_back({.milestone = each.milestone,
                       .files = std::move(part.changed),
                       .headers = std::move(part.headers),
                       .puzzles = std::move(part.puzzles)});
    } else if (!part.unchanged.empty()) {
      unchanged.push_back(each.milestone);
    }
  }
  if (works.empty() && !unchanged.empty()) {
    throw RefusedSubmission("Every file of " + joined(unchanged) +
                            " in it is as it was handed out.");
  }
  if (works.empty()) works.push_back(loose_work(files, milestone, place, all));
  // grader submit packs one milestone.
  if (works.size() == 1) {
    works.front().notebook = notebook;
    works.front().history = history;
  }
  for (const MilestoneWork& work : works) require_small(work);
  return works;
}

std::string digest_of(const MilestoneWork& work) {
  std::string text = work.milestone;
  std::vector<SubmittedFile> files = work.files;
  files.insert(files.end(), work.puzzles.begin(), work.puzzles.end());
  files.insert(files.end(), work.headers.begin(), work.headers.end());
  for (const SubmittedFile& file : files) {
    text += '\n' + file.path + '\n' + std::to_string(file.text.size()) + '\n' + file.text;
  }
  const ScratchFolder scratch;
  write_atomically(scratch.path() / "work", text);
  return describe_files({scratch.path() / "work"}).front().sha256;
}

}  // namespace convlab::grader
