#include "grader/submission/build_submission.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/sandbox/child_process.hpp"
#include "grader/submission/compiler_output.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using Kind = BuildProblem::Kind;

constexpr const char* kOptimise = "CONVLAB_SUBMISSION_OPTIMISE";

std::string optimisation() {
  const char* flag = std::getenv(kOptimise);
  return flag == nullptr ? "" : flag;
}

// The first line that is an error, without the folder; how many more there are.
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

/// Runs steps of compile-submission in a sandbox.
class Compiler {
 public:
  Compiler(fs::path build, Device device, fs::path folder)
      : build_(std::move(build)), device_(to_string(device)), folder_(std::move(folder)) {}

  /// Nothing if it went well. Compiling sees what milestones may include; linking sees the build.
  std::optional<BuildProblem> step(const std::string& name, const std::vector<std::string>& more,
                                   const std::vector<fs::path>& readable) {
    std::vector<std::string> words = {name, device_};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(folder_.string());
    ChildProcess::Options options{.policy = {.readable = readable,
                                             .secret = network_folder().parent_path().parent_path(),
                                             .may_fork = true,
                                             .keeps_files = true,
                                             .cpu_seconds = 600,
                                             .file_bytes = std::uint64_t{512} << 20,
                                             .data_bytes = std::uint64_t{8} << 30},
                                  .folder = folder_};
    if (const std::string flag = optimisation(); !flag.empty()) {
      options.environment = {std::string(kOptimise) + "=" + flag};
    }
    options.policy.readable.insert(options.policy.readable.end(),
                                   {build_ / "compile-submission", "/usr", "/bin", "/lib", "/opt"});
    ChildProcess process(build_ / "compile-submission", words, options);
    constexpr std::chrono::seconds kPatience(300);
    const Ending ending = process.wait(kPatience);
    std::ofstream(folder_ / "compiler.log", std::ios::app) << process.output_head();
    if (ending.kind == Ending::Kind::kExited && ending.code == 0) return std::nullopt;
    if (const std::string fault = fault_of_machine(process.output_head()); !fault.empty()) {
      throw EnvironmentError("Nothing can be compiled in " + folder_.parent_path().string() + ": " +
                             fault + ".");
    }
    if (ending.kind == Ending::Kind::kExited && misses_compiler(process.output_head())) {
      throw EnvironmentError("The compiler that this build was configured with is gone (" +
                             first_error(process.output_head(), folder_) +
                             "); common/setup/lab setup installs one, cmake --preset lab --fresh "
                             "looks for it again.");
    }
    if (ending.kind == Ending::Kind::kExited) {
      return BuildProblem{.message = first_error(process.output_head(), folder_)};
    }
    if (ending.kind == Ending::Kind::kFlood) {
      return BuildProblem{.message = first_error(process.output_head(), folder_)};
    }
    return BuildProblem{
        .kind = Kind::kTakesTooLong,
        .message = ending.kind == Ending::Kind::kTimeout
                       ? "it was stopped after " + std::to_string(kPatience.count()) + " seconds"
                       : "it used up its memory or its processor time"};
  }

 private:
  fs::path build_;
  std::string device_;
  fs::path folder_;
};

std::optional<BuildProblem> compile_and_link(const fs::path& file, Device device,
                                             const fs::path& build, const fs::path& folder) {
  Compiler compiler(build, device, folder);
  const fs::path course = network_folder().parent_path().parent_path();
  if (auto problem = compiler.step("compile", {file.string()},
                                   {course / "common", build / "bin", build / "common"})) {
    return problem;
  }
  const std::string symbols = read_text(folder / "symbols");
  if (auto symbol = find_symbol_problem(symbols)) {
    return BuildProblem{.kind = Kind::kSymbol, .symbol = std::move(symbol)};
  }
  const bool adapter = implements_course_interface(symbols);
  return compiler.step(adapter ? "link-adapter" : "link", {}, {build});
}

// Of what the program depends on: another text, device or build makes another program.
std::string key_of(const std::string& text, Device device, const fs::path& build) {
  std::error_code missing;
  const auto built = fs::last_write_time(build / "bin" / "grader", missing);
  const std::size_t key = std::hash<std::string>{}(
      text + "\n" + optimisation() + std::to_string(built.time_since_epoch().count()));
  return std::string("graded-") + to_string(device) + "-" + std::to_string(key);
}

}  // namespace

BuiltSubmission build_submission(const fs::path& file, Device device, const fs::path& build) {
  if (!fs::is_regular_file(file)) {
    throw UsageError("The solution is student, reference, or a source file; there is no file " +
                     file.string() + ".");
  }
  if (!fs::exists(build / "compile-submission")) {
    throw EnvironmentError("This build has no " + (build / "compile-submission").string() +
                           "; build again: cmake --build --preset lab");
  }
  const std::string text = read_text(file);
  BuiltSubmission built;
  built.folder = build / "sources" / (file.stem().string() + "-" + key_of(text, device, build));
  built.program = built.folder / "program";
  const std::string name = file.filename().string();
  if (fs::exists(built.program) && read_text(built.folder / name) == text) return built;

  // Made beside, then renamed: two graders may want the same program at the same time.
  const fs::path scratch = built.folder.string() + "." + std::to_string(::getpid());
  try {
    fs::remove_all(scratch);
    fs::create_directories(scratch);
    fs::copy_file(file, scratch / name);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    throw EnvironmentError("Nothing can be compiled in " + scratch.parent_path().string() + ": " +
                           error.code().message() + ".");
  }
  std::error_code failed;
  try {
    built.problem = compile_and_link(scratch / name, device, build, scratch);
  } catch (const Error&) {
    fs::remove_all(scratch, failed);
    throw;
  }
  fs::remove_all(built.folder, failed);
  fs::rename(scratch, built.folder, failed);
  if (failed) fs::remove_all(scratch, failed);  // the other one was first
  return built;
}

}  // namespace convlab::grader
