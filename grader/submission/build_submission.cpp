#include "grader/submission/build_submission.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/submission/sandbox/child_process.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using Kind = BuildProblem::Kind;
using Clock = std::chrono::steady_clock;

// Apart from what the grader makes of them, so that no name of a submission meets one of its own.
constexpr const char* kFiles = "files";
constexpr const char* kOptimise = "CONVLAB_SUBMISSION_OPTIMISE";

std::string optimisation() {
  const char* flag = std::getenv(kOptimise);
  return flag == nullptr ? "" : flag;
}

// The first error line, without the folder, and the number of further errors.
std::string first_error(const std::string& printed, const fs::path& folder) {
  std::istringstream lines(printed);
  std::string first;
  std::string any;
  int errors = 0;
  for (std::string line; std::getline(lines, line);) {
    if (any.empty() && !line.empty()) any = line;
    // The linker has said why in a line before.
    if (line.starts_with("collect2: error: ") && !any.empty()) continue;
    if (line.find("error") == std::string::npos &&
        line.find("undefined reference") == std::string::npos) {
      continue;
    }
    if (errors++ == 0) first = line;
  }
  if (first.empty()) first = any;
  constexpr std::size_t kMost = 4000;  // a line may be as long as its author likes
  first = first.substr(0, kMost);
  for (const std::string& prefix : {(folder / kFiles).string() + "/", folder.string() + "/"}) {
    for (auto at = first.find(prefix); at != std::string::npos; at = first.find(prefix)) {
      first.erase(at, prefix.size());
    }
  }
  // nvcc names a line as FILE(LINE): error, other compilers as FILE:LINE:COLUMN: error.
  const auto open = first.find_first_of("() \t");
  const std::string line = open == std::string::npos ? "" : digits_at(first, open + 1);
  if (!line.empty() && first[open] == '(' && first.compare(open + 1 + line.size(), 3, "): ") == 0) {
    first.replace(open, line.size() + 2, ":" + line);
  }
  constexpr std::size_t kLongest = 300;
  first = first.substr(0, kLongest);
  if (errors > 1) first += " (and " + std::to_string(errors - 1) + " more)";
  return first;
}

std::string log_of(const fs::path& folder) {
  const fs::path log = folder / "compiler.log";
  return fs::exists(log) ? printable(read_text(log)) + "\n" : "";
}

// Adds the files of a folder, but not its tests and benchmarks: they hold whole convolutions.
void add_room(const fs::path& folder, std::vector<fs::path>& readable) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory()) {
      readable.push_back(entry.path());
    } else if (!name.starts_with("test") && name != "benchmarks") {
      add_room(entry.path(), readable);
    }
  }
}

/// Runs steps of build_custom_submission.sh in a sandbox.
class Compiler {
 public:
  Compiler(const CustomSubmissionTarget& target, fs::path folder,
           Clock::time_point deadline = Clock::time_point::max())
      : target_(target), folder_(std::move(folder)), deadline_(deadline) {}

  /// Empty if it succeeded.
  std::optional<BuildProblem> compile(const fs::path& file) const {
    // The tools, too; not the programs of a solution.
    std::vector<fs::path> readable = headers_for_submissions();
    readable.push_back(target_.build / "bin" / "convlab-rewrite");
    readable.push_back(target_.build / "custom_submission");
    return step(compile_command(target_, file, folder_), readable);
  }

  std::optional<BuildProblem> link(bool adapter) const {
    // Not the programs of the workbook: bin/ holds solutions.
    return step(link_command(target_, folder_, adapter),
                {course_ / "common" / "custom_submission", target_.build / "common",
                 target_.build / "custom_submission"});
  }

 private:
  std::optional<BuildProblem> step(const std::vector<std::string>& words,
                                   const std::vector<fs::path>& readable) const {
    ChildProcess::Options options{.policy = {.kind = SandboxKind::kCompiler,
                                             .readable = readable,
                                             .secret = course_,
                                             .cpu_seconds = 150,
                                             .file_bytes = std::uint64_t{128} << 20,
                                             .data_bytes = std::uint64_t{8} << 30},
                                  .folder = folder_};
    if (const std::string flag = optimisation(); !flag.empty()) {
      options.environment = {std::string(kOptimise) + "=" + flag};
    }
    const auto tools = tool_folders(target_.build, to_string(target_.device));
    options.policy.readable.insert(options.policy.readable.end(), tools.begin(), tools.end());
    ChildProcess process(words.front(), {words.begin() + 1, words.end()}, options);
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(deadline_ - Clock::now());
    const auto patience = std::clamp(left, std::chrono::seconds(1), std::chrono::seconds(300));
    const Ending ending = process.wait(patience);
    std::ofstream(folder_ / "compiler.log", std::ios::app) << process.output_head();
    if (ending.kind == Ending::Kind::kExited && ending.code == 0) return std::nullopt;
    if (ending.kind == Ending::Kind::kExited || ending.kind == Ending::Kind::kFlood) {
      return BuildProblem{.message = first_error(process.output_head(), folder_)};
    }
    return BuildProblem{
        .kind = Kind::kTakesTooLong,
        .message = ending.kind == Ending::Kind::kTimeout
                       ? "it was stopped after " + std::to_string(patience.count()) + " seconds"
                       : "it used up its memory or its processor time"};
  }

  CustomSubmissionTarget target_;
  fs::path folder_;
  Clock::time_point deadline_;
  fs::path course_ = network_folder().parent_path().parent_path();
};

// Removes all files of a compiler's step except these; they may be gigabytes.
void remove_all_but(const fs::path& folder, const std::vector<std::string>& kept) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) {
      fs::remove_all(entry.path(), failed);
    }
  }
}

// A failed compilation may be the machine's fault. The file can influence the compiler's message,
// but not the state of the machine or whether an empty file compiles.
void require_working_machine(const CustomSubmissionTarget& target, const fs::path& folder) {
  const fs::path alone = folder / "machine";
  const fs::path empty = alone / (target.device == Device::kCpu ? "empty.cpp" : "empty.cu");
  std::string fault = fault_of_storage(folder);
  std::optional<BuildProblem> problem;
  if (fault.empty()) {
    write_atomically(empty, "\n");
    const Compiler compiler(target, alone);
    problem = compiler.compile(empty);
    if (!problem) problem = compiler.link(false);
    if (!problem) return;
    fault = fault_of_storage(folder);
  }
  if (!fault.empty()) {
    throw EnvironmentError("Nothing can be compiled in " + folder.parent_path().string() + ": " +
                           fault + "; free some space, then run this again.");
  }
  if (const auto missing = missing_tool(target.build, to_string(target.device)); !missing.empty()) {
    throw EnvironmentError("The compiler that this build was configured with is gone (" + missing +
                           "); common/setup/lab setup installs one, cmake --preset lab --fresh "
                           "looks for it again.");
  }
  throw EnvironmentError("Not even an empty file can be built here (" + problem->message +
                         "). Does another build change this folder, or is the memory used up? "
                         "If not: cmake --build --preset lab, then run this again.");
}

// Includes the folders. Files made from it get longer names, and a name may not exceed 255 bytes.
constexpr std::size_t kLongestName = 150;
// The compiled files are kept: objects and their lists of symbols, of all sources together.
constexpr std::uintmax_t kMostObjectBytes = std::uintmax_t{32} << 20;

/// The content of one file.
struct Text {
  fs::path name{};  ///< from the folder on
  std::string text{};
};

// Whether a path, links followed, still lies in the folder.
bool lies_inside(const fs::path& folder, const fs::path& file) {
  const fs::path way = fs::canonical(file).lexically_relative(fs::canonical(folder));
  return !way.empty() && *way.begin() != "..";
}

/// Files of a submission, or why they are refused.
struct Texts {
  std::vector<Text> texts{};
  std::uintmax_t bytes = 0;
  std::string refused{};

  void add(const fs::path& folder, const fs::path& file) {
    std::error_code unreadable;
    const std::string name = file.lexically_relative(folder).generic_string();
    const std::uintmax_t size = fs::file_size(file, unreadable);
    bytes += unreadable ? 0 : size;
    if (name.size() > kLongestName) {
      refused = "a file's name has " + std::to_string(name.size()) + " bytes, more than " +
                std::to_string(kLongestName) + ": " + name.substr(0, kLongestName / 2) + "…";
    } else if (!fs::is_regular_file(file, unreadable)) {
      refused = name + " is no file";
    } else if (!lies_inside(folder, file)) {
      refused = name + " is a link to a file that is not part of the submission; hand in the file";
    } else if (bytes > kMostBuiltBytes || texts.size() >= kMostBuiltFiles) {
      refused = "the files are more than " + std::to_string(kMostBuiltFiles) + ", or larger than " +
                std::to_string(kMostBuiltBytes >> 20) + " MB together";
    } else {
      texts.push_back({name, read_text(file)});
      // A compiler would take a precompiled header for its source, with code that nobody can read.
      if (texts.back().text.find('\0') != std::string::npos) refused = name + " is no text";
    }
  }
};

Texts read_all(const fs::path& folder, const std::vector<fs::path>& files) {
  Texts all;
  for (const fs::path& file : files) {
    if (all.refused.empty()) all.add(folder, file);
  }
  return all;
}

void write_all(const fs::path& folder, const std::vector<Text>& texts) {
  for (const Text& each : texts) {
    fs::create_directories((folder / each.name).parent_path());
    write_atomically(folder / each.name, each.text);
  }
}

std::string joined(const std::vector<Text>& texts) {
  std::string all;
  for (const Text& each : texts) {
    all += each.name.generic_string() + '\0' + std::to_string(each.text.size()) + '\0' + each.text;
  }
  return all;
}

/// A compiled source: its object and symbols, or the problem.
struct Compiled {
  fs::path folder{};
  std::string symbols{};
  std::optional<BuildProblem> problem{};
};

/// What all files of a submission may take together.
struct Allowed {
  std::atomic<std::uintmax_t> bytes = 0;  ///< of objects and symbols, so far
  Clock::time_point deadline{};
};

// Counts what was compiled into a folder; a problem if it is too much.
std::optional<BuildProblem> too_large(const fs::path& folder, std::atomic<std::uintmax_t>& bytes) {
  const std::uintmax_t own = fs::file_size(folder / "source.o") + fs::file_size(folder / "symbols");
  if ((bytes += own) <= kMostObjectBytes) return std::nullopt;
  return BuildProblem{.kind = Kind::kRefused,
                      .message = "its object files and symbols are larger than " +
                                 std::to_string(kMostObjectBytes >> 20) + " MB together"};
}

// Object files are kept, so that a change of one file among ten compiles only one.
Compiled compile(const Text& source, const std::vector<Text>& headers,
                 const CustomSubmissionTarget& target, Allowed& allowed) {
  const std::string all = joined({source}) + joined(headers);
  Compiled compiled{.folder = folder_for(target, source.name, "object", all)};
  const fs::path kept = compiled.folder / "all-texts";
  keep_folder(compiled.folder);
  const bool is_kept = fs::exists(kept) && read_text(kept) == all;
  if (!is_kept && Clock::now() > allowed.deadline) {
    compiled.problem = BuildProblem{.kind = Kind::kTakesTooLong,
                                    .message =
                                        "its turn did not come in the time that all files "
                                        "have together"};
  } else if (!is_kept) {
    fill_folder(compiled.folder, [&](const fs::path& scratch) {
      write_all(scratch / kFiles, headers);
      write_all(scratch / kFiles, {source});
      const Compiler compiler(target, scratch, allowed.deadline);
      compiled.problem = compiler.compile(scratch / kFiles / source.name);
      if (!compiled.problem) compiled.problem = too_large(scratch, allowed.bytes);
      if (!compiled.problem) {
        remove_all_but(scratch, {"source.o", "symbols", "compiler.log"});
        write_atomically(scratch / "all-texts", all);
        return;
      }
      remove_all_but(scratch, {"compiler.log"});
      if (compiled.problem->kind == Kind::kDoesNotCompile) {
        require_working_machine(target, scratch);
        remove_all_but(scratch, {"compiler.log"});
      }
    });
  }
  if (!compiled.problem && is_kept) compiled.problem = too_large(compiled.folder, allowed.bytes);
  if (!compiled.problem) {
    compiled.symbols = read_text(compiled.folder / "symbols");
    if (auto symbol = find_symbol_problem(compiled.symbols, target.libraries)) {
      compiled.problem = BuildProblem{.kind = Kind::kSymbol, .symbol = std::move(symbol)};
    }
  }
  if (!compiled.problem && target.device != Device::kGpu &&
      calls_library(compiled.symbols, target.libraries)) {
    throw EnvironmentError(source.name.filename().string() +
                           " calls a library of the GPU, which cannot be emulated, and no GPU "
                           "answers here; check it on a machine that has one.");
  }
  if (compiled.problem) compiled.problem->file = source.name.generic_string();
  return compiled;
}

// As many at a time as there are processors.
std::vector<Compiled> compile_all(const Texts& sources, const std::vector<Text>& headers,
                                  const CustomSubmissionTarget& target,
                                  Clock::time_point deadline) {
  std::vector<Compiled> compiled(sources.texts.size());
  Allowed allowed{.deadline = std::min(deadline, Clock::now() + std::chrono::minutes(30))};
  in_threads(compiled.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    compiled[i] = compile(sources.texts[i], headers, target, allowed);
  });
  return compiled;
}

std::optional<BuildProblem> link(const std::vector<Compiled>& compiled,
                                 const CustomSubmissionTarget& target, const fs::path& folder,
                                 FileInterface form, Clock::time_point deadline) {
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    fs::copy_file(compiled[i].folder / "source.o", folder / ("source-" + std::to_string(i) + ".o"));
  }
  auto problem = Compiler(target, folder, deadline).link(form != FileInterface::kStages);
  remove_all_but(folder, {"program", "compiler.log"});
  if (problem && problem->kind == Kind::kDoesNotCompile) {
    require_working_machine(target, folder);
    remove_all_but(folder, {"compiler.log"});
  }
  return problem;
}

std::string lines_of_warnings(const std::string& printed) {
  constexpr std::string_view kMark = ": warning: ";
  std::vector<std::string> found;
  std::vector<std::string> others;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const auto mark = line.find(kMark);
    if (mark == std::string::npos) continue;
    // FILE:LINE:COLUMN; a file in another folder is not the student's.
    std::string place = line.substr(0, mark);
    if (place.find("/common/") != std::string::npos || place.starts_with("/usr/")) continue;
    place.erase(std::min(place.rfind(':'), place.size()));
    place.erase(0, place.find_last_of('/') + 1);
    const std::string text = place + ": " + line.substr(mark + kMark.size());
    const bool tells = text.find("uninitialized") != std::string::npos;
    auto& list = tells ? found : others;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
  found.insert(found.end(), others.begin(), others.end());
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) {
    text += (text.empty() ? "" : "\n") + found[i];
  }
  return text;
}

}  // namespace

SubmittedSources only(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return {.folder = folder, .sources = {folder / file.filename()}, .headers = {}};
}

BuiltSubmission build_submission(const SubmittedSources& submitted,
                                 const CustomSubmissionTarget& target) {
  if (!fs::exists(target.build / "custom_submission" /
                  (std::string(to_string(target.device)) + ".link"))) {
    throw EnvironmentError("This build has not recorded how it compiles for " +
                           std::string(to_string(target.device)) +
                           "; build again: cmake --build --preset lab");
  }
  BuiltSubmission built;
  const Texts sources = read_all(submitted.folder, submitted.sources);
  const Texts headers = read_all(submitted.folder, submitted.headers);
  for (const Texts* each : {&sources, &headers}) {
    if (each->refused.empty()) continue;
    built.problem = BuildProblem{.kind = Kind::kRefused, .message = each->refused};
    return built;
  }
  const std::vector<Compiled> compiled =
      compile_all(sources, headers.texts, target, submitted.deadline);
  std::string printed;
  for (const Compiled& each : compiled) printed += log_of(each.folder);
  built.warnings = lines_of_warnings(printed);
  for (const Compiled& each : compiled) {
    built.folder = each.folder;
    built.problem = each.problem;
    if (built.problem) return built;
  }
  const std::string all = joined(sources.texts) + joined(headers.texts);
  built.folder = folder_for(target, sources.texts.front().name, "graded", all);
  built.program = built.folder / "program";
  const fs::path kept = built.folder / "all-texts";
  keep_folder(built.folder);
  // The parts of the course interface may lie in several files.
  std::string symbols;
  for (const Compiled& each : compiled) symbols += each.symbols;
  built.form = interface_of(symbols);
  if (built.form != FileInterface::kStages && !has_convolution(symbols)) {
    built.problem = BuildProblem{.kind = Kind::kNoConvolution,
                                 .file = sources.texts.front().name.generic_string()};
    return built;
  }
  if (fs::exists(built.program) && fs::exists(kept) && read_text(kept) == all) return built;
  fill_folder(built.folder, [&](const fs::path& scratch) {
    built.problem = link(compiled, target, scratch, built.form, submitted.deadline);
    if (built.problem) return;
    write_atomically(scratch / "all-texts", all);
    write_atomically(scratch / kDeviceFile, std::string(to_string(target.device)) + "\n");
  });
  return built;
}

std::vector<fs::path> headers_for_submissions() {
  std::vector<fs::path> readable;
  for (const char* room : {"base", "custom_submission", "device", "emulation", "stage", "timing"}) {
    add_room(network_folder().parent_path() / room, readable);
  }
  return readable;
}

}  // namespace convlab::grader
