#include "grader/submission/build_submission.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/text/printable.hpp"
#include "grader/sandbox/child_process.hpp"
#include "grader/submission/machine_faults.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using Kind = BuildProblem::Kind;

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
    if (line.find("error") == std::string::npos &&
        line.find("undefined reference") == std::string::npos) {
      continue;
    }
    if (errors++ == 0) first = line;
  }
  if (first.empty()) first = any;
  const std::string prefix = folder.string() + "/";
  for (auto at = first.find(prefix); at != std::string::npos; at = first.find(prefix)) {
    first.erase(at, prefix.size());
  }
  constexpr std::size_t kLongest = 300;
  first = first.substr(0, kLongest);
  if (errors > 1) first += " (and " + std::to_string(errors - 1) + " more)";
  return first;
}

std::string warnings_of(const fs::path& folder) {
  const fs::path log = folder / "compiler.log";
  return fs::exists(log) ? lines_of_warnings(printable(read_text(log))) : "";
}

/// Runs steps of build_given_file.sh in a sandbox.
class Compiler {
 public:
  Compiler(const GivenFileTarget& target, fs::path folder)
      : target_(target), folder_(std::move(folder)) {}

  /// Nothing if it went well.
  std::optional<BuildProblem> compile(const fs::path& file) const {
    // The headers that milestones may include, and the tools; not the programs of a solution.
    return step(compile_command(target_, file, folder_),
                {course_ / "common", target_.build / "bin" / "convlab-rewrite",
                 target_.build / "given_file"});
  }

  std::optional<BuildProblem> link(bool adapter) const {
    return step(link_command(target_, folder_, adapter), {course_ / "common", target_.build});
  }

 private:
  std::optional<BuildProblem> step(const std::vector<std::string>& words,
                                   const std::vector<fs::path>& readable) const {
    ChildProcess::Options options{.policy = {.box = Box::kCompiler,
                                             .readable = readable,
                                             .secret = course_,
                                             .cpu_seconds = 600,
                                             .file_bytes = std::uint64_t{128} << 20,
                                             .data_bytes = std::uint64_t{8} << 30},
                                  .folder = folder_};
    if (const std::string flag = optimisation(); !flag.empty()) {
      options.environment = {std::string(kOptimise) + "=" + flag};
    }
    const auto tools = tool_folders(target_.build, to_string(target_.device));
    options.policy.readable.insert(options.policy.readable.end(), tools.begin(), tools.end());
    ChildProcess process(words.front(), {words.begin() + 1, words.end()}, options);
    constexpr std::chrono::seconds kPatience(300);
    const Ending ending = process.wait(kPatience);
    std::ofstream(folder_ / "compiler.log", std::ios::app) << process.output_head();
    if (ending.kind == Ending::Kind::kExited && ending.code == 0) return std::nullopt;
    if (ending.kind == Ending::Kind::kExited || ending.kind == Ending::Kind::kFlood) {
      return BuildProblem{.message = first_error(process.output_head(), folder_)};
    }
    return BuildProblem{
        .kind = Kind::kTakesTooLong,
        .message = ending.kind == Ending::Kind::kTimeout
                       ? "it was stopped after " + std::to_string(kPatience.count()) + " seconds"
                       : "it used up its memory or its processor time"};
  }

  GivenFileTarget target_;
  fs::path folder_;
  fs::path course_ = network_folder().parent_path().parent_path();
};

// What a step of the compiler left behind, which may be gigabytes, but for these.
void remove_all_but(const fs::path& folder, const std::vector<std::string>& kept) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) {
      fs::remove_all(entry.path(), failed);
    }
  }
}

[[noreturn]] void blame_machine(const fs::path& folder, const std::string& fault) {
  throw EnvironmentError("Nothing can be compiled in " + folder.parent_path().string() + ": " +
                         fault + "; free some space, then run this again.");
}

// A file that does not compile may be the machine's fault. What the compiler says of it is the
// file's word; what the machine says, and whether an empty file compiles, is not.
void require_working_machine(const GivenFileTarget& target, const fs::path& folder) {
  if (const std::string fault = fault_of_storage(folder); !fault.empty()) {
    blame_machine(folder, fault);
  }
  std::string missing = missing_tool(target.build, to_string(target.device));
  if (missing.empty()) {
    const fs::path empty = folder / (target.device == Device::kCpu ? "empty.cpp" : "empty.cu");
    write_atomically(empty, "\n");
    const Compiler compiler(target, folder);
    auto problem = compiler.compile(empty);
    if (!problem) problem = compiler.link(false);
    if (!problem) return;
    if (const std::string fault = fault_of_storage(folder); !fault.empty()) {
      blame_machine(folder, fault);
    }
    missing = problem->message;
  }
  throw EnvironmentError("The compiler that this build was configured with is gone (" + missing +
                         "); common/setup/lab setup installs one, cmake --preset lab --fresh "
                         "looks for it again.");
}

// What was written beside a program when it was built.
FileInterface recorded_interface(const fs::path& folder) {
  std::istringstream words(read_text(folder / kDeviceFile));
  std::string device;
  std::string form;
  words >> device >> form;
  for (const auto each : {FileInterface::kCourse, FileInterface::kCourseWithStride}) {
    if (form == to_string(each)) return each;
  }
  return FileInterface::kStages;
}

std::optional<BuildProblem> compile_and_link(const fs::path& file, const GivenFileTarget& target,
                                             const fs::path& folder, FileInterface& form) {
  const Compiler compiler(target, folder);
  if (auto problem = compiler.compile(file)) return problem;
  const std::string symbols = read_text(folder / "symbols");
  if (auto symbol = find_symbol_problem(symbols, target.libraries)) {
    return BuildProblem{.kind = Kind::kSymbol, .symbol = std::move(symbol)};
  }
  if (target.device != Device::kGpu && calls_library(symbols, target.libraries)) {
    throw EnvironmentError(file.filename().string() +
                           " calls a library of the GPU, which cannot be emulated, and no GPU "
                           "answers here; check it on a machine that has one.");
  }
  form = interface_of(symbols);
  const bool adapter = form != FileInterface::kStages;
  if (adapter && !has_convolution(symbols)) return BuildProblem{.kind = Kind::kNoConvolution};
  return compiler.link(adapter);
}

}  // namespace

std::string lines_of_warnings(const std::string& printed) {
  constexpr std::string_view kMark = ": warning: ";
  std::vector<std::string> found;
  std::vector<std::string> others;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const auto mark = line.find(kMark);
    if (mark == std::string::npos) continue;
    // FILE:LINE:COLUMN; another folder than the file's own is not the student's.
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

BuiltSubmission build_submission(const fs::path& file, const GivenFileTarget& target) {
  if (!fs::is_regular_file(file)) {
    throw UsageError("The solution is student, reference, or a source file; there is no file " +
                     file.string() + ".");
  }
  if (!fs::exists(target.build / "given_file" /
                  (std::string(to_string(target.device)) + ".link"))) {
    throw EnvironmentError("This build has not recorded how it compiles for " +
                           std::string(to_string(target.device)) +
                           "; build again: cmake --build --preset lab");
  }
  const std::string text = read_text(file);
  const std::string name = file.filename().string();
  BuiltSubmission built;
  built.folder = folder_for(target, file, "graded", text);
  built.program = built.folder / "program";
  if (fs::exists(built.program) && read_text(built.folder / name) == text) {
    built.warnings = warnings_of(built.folder);
    built.form = recorded_interface(built.folder);
    return built;
  }
  fill_folder(built.folder, [&](const fs::path& scratch) {
    write_atomically(scratch / name, text);
    built.problem = compile_and_link(scratch / name, target, scratch, built.form);
    remove_all_but(scratch, {name, "program", "compiler.log"});
    if (built.problem && built.problem->kind == Kind::kDoesNotCompile) {
      require_working_machine(target, scratch);
      remove_all_but(scratch, {name, "compiler.log"});
    }
    if (!built.problem) {
      write_atomically(scratch / kDeviceFile,
                       std::string(to_string(target.device)) + " " + to_string(built.form) + "\n");
    }
  });
  built.warnings = warnings_of(built.folder);
  return built;
}

}  // namespace convlab::grader
