#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/stage/run_stage.hpp"

namespace convlab::grader {

/// A linear scale of the course for the sum of the op times: all points up to `full_ms`, none above
/// `none_ms`. Measured on the edition's GPU; times of another GPU are not scaled.
struct TimeRule {
  int batch = 0;
  double full_ms = 0.0;
  double none_ms = 0.0;

  /// The share of the points, from 0 to 1.
  [[nodiscard]] double share(double op_ms) const;
};

/// A file that a term asked for, and what it asked of it.
struct EditionTask {
  std::string name{};       ///< "req-0"
  std::string title{};      ///< "Streams"
  std::string milestone{};  ///< of the course: "m3"
  std::string workbook{};   ///< the milestone of the workbook whose kind and points it has: "m2"
  std::string file{};       ///< how its path ends: "req_0/m3-forward.cu"
  double points = 0.0;      ///< of the course; 0: not known
  double points_in_half = 0.0;           ///< instead, if it computes in half precision; 0: the same
  double points_without_half2 = 0.0;     ///< instead, if it names no half2; 0: the same
  bool optional = false;                 ///< one of a choice
  bool prolog_computes = false;          ///< the whole work may be done in prolog
  bool matmul = false;                   ///< multiplies by the kernel of matmul.h
  std::vector<std::string> rules{};      ///< names of kCourseRules that it must keep
  std::vector<std::string> libraries{};  ///< that it may call
  std::vector<int> batches{};            ///< instead of the edition's
  std::optional<TimeRule> time{};

  [[nodiscard]] bool is_cpu() const { return workbook == "m1"; }
};

/// How the ranked run measures: calls of conv_forward_gpu on the same buffers, by the host's clock.
struct CompetitionRules {
  RankedRun run{};
  std::vector<std::string> rules{};
};

/// What a term of the course asked for: data, read from grader/checks/editions/NAME.json.
struct Edition {
  std::string name{};   ///< "sp26"
  std::string title{};  ///< "Spring 2026"
  std::string network{};
  std::string gpu{};  ///< on which its times were measured: "NVIDIA A40"
  std::vector<int> batches{};
  std::vector<ConvShape> cases{};    ///< published; a file with a stride must be right for them
  std::set<std::string> warnings{};  ///< findings that do not fail a file
  double optional_points = 0.0;      ///< how many of the optional tasks' points it asked for
  std::optional<CompetitionRules> competition{};
  std::vector<EditionTask> tasks{};

  [[nodiscard]] std::string id_of(const EditionTask& task) const { return name + "-" + task.name; }
};

/// What the course forbids beside a wrong output (edition_rules.hpp checks it).
inline const std::vector<std::string> kCourseRules = {"kernels-in-convolve", "one-stream",
                                                      "no-half", "tiled-product", "unrolling"};

/// Libraries that a task may allow.
inline const std::vector<std::string> kGpuLibraries = {"cublas"};

/// The names of all editions, oldest first.
/// @throws EnvironmentError if there are none
std::vector<std::string> edition_names();

std::filesystem::path edition_file(const std::string& name);

/// @throws UsageError for an unknown name (it lists the known ones), EnvironmentError with one
/// sentence for a file that lacks a key, has an unknown one, or names what does not exist
Edition load_edition(const std::string& name);

/// @param name  stands for the file in messages
Edition parse_edition(const std::string& text, const std::string& name);

/// An edition and one of its tasks.
struct NamedTask {
  Edition edition{};
  EditionTask task{};
};

/// The newest that says how it ranks. @throws EnvironmentError if none does
Edition ranked_edition();

/// "sp26-req-0". None if the part before '-' is no edition.
/// @throws UsageError if that edition has no such task; it lists them
std::optional<NamedTask> find_task(const std::string& id);

/// The title of an edition, "sp26", or of one of its tasks, "sp26-req-0"; empty for other names.
/// @throws UsageError as find_task
std::string title_of_course(const std::string& id);

/// The tasks of a tree, in the order of the edition, with the paths of their files.
struct TaskFile {
  EditionTask task{};
  std::string path{};
};

/// A file belongs to the task whose place its path ends with, as far as the path goes:
/// "x/new-forward.cu" is not custom/new-forward.cu, but "new-forward.cu" alone is. `.cc` and `.cpp`
/// are the same.
/// @param paths  with '/', from the top of the tree
/// @throws UsageError if two files are as likely for one task
std::vector<TaskFile> tasks_in(const Edition& edition, const std::vector<std::string>& paths);

/// Whether a tree is one of the course: a path ends as that of an edition's task, with its folder.
/// @return the editions that fit most files, the newest last; none if no two files fit
std::vector<std::string> editions_of(const std::vector<std::string>& paths);

/// What to say where the newest of several is taken; empty if there are not several.
std::string choice_among(const std::vector<std::string>& editions);

/// Whether a source defines a function of the course interface, completely: then it is somebody's
/// work, and whoever does not judge it says so.
bool defines_course_interface(const std::string& text);

}  // namespace convlab::grader
