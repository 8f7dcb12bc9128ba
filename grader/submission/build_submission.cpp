#include "grader/submission/build_submission.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

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

// Of all compilers that run at the same time.
constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30;
constexpr std::size_t kMostCompilers = 8;

// Runs a step of build_custom_submission.sh in a sandbox; a problem if it fails.
std::optional<BuildProblem> run_step(const CustomSubmissionTarget& target, const fs::path& folder,
                                     Clock::time_point deadline,
                                     const std::vector<std::string>& words,
                                     std::vector<fs::path> readable,
                                     std::uint64_t memory = kMostMemory) {
  const auto tools = tool_folders(target.build, to_string(target.device));
  readable.insert(readable.end(), tools.begin(), tools.end());
  readable.push_back(target.build / "custom_submission");
  ChildProcess::Options options{.policy = {.kind = SandboxKind::kCompiler,
                                           .readable = readable,
                                           .secret = workbook_folder(),
                                           .cpu_seconds = 150,
                                           .file_bytes = std::uint64_t{128} << 20,
                                           .data_bytes = memory},
                                .folder = folder};
  if (const char* flag = std::getenv(kOptimise)) {
    options.environment = {std::string(kOptimise) + "=" + flag};
  }
  // Each wrong edit takes its line of the message.
  if (target.edited) options.kept_output = std::size_t{1} << 20;
  ChildProcess process(words.front(), {words.begin() + 1, words.end()}, options);
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(deadline - Clock::now());
  const auto patience = std::clamp(left, std::chrono::seconds(1), std::chrono::seconds(300));
  const Ending ending = process.wait(patience);
  std::ofstream(folder / "compiler.log", std::ios::app) << process.output_head();
  if (ending.kind == Ending::Kind::kExited && ending.code == 0) return std::nullopt;
  if (ending.kind == Ending::Kind::kExited || ending.kind == Ending::Kind::kFlood) {
    return BuildProblem{.error = first_build_error(process.output_head(), folder.parent_path())};
  }
  return BuildProblem{
      .kind = Kind::kTakesTooLong,
      .message = ending.kind == Ending::Kind::kTimeout
                     ? "it was stopped after " + count_of(patience.count(), "second")
                     : "it used up its memory or its processor time"};
}

std::optional<BuildProblem> run_compiler(const CustomSubmissionTarget& target,
                                         const fs::path& folder, Clock::time_point deadline,
                                         const fs::path& file, std::uint64_t memory = kMostMemory) {
  // The tools, too; not the programs of a solution.
  std::vector<fs::path> readable = headers_for_submissions();
  readable.push_back(target.build / "bin" / "convlab-rewrite");
  return run_step(target, folder, deadline, compile_command(target, file, folder), readable,
                  memory);
}

std::optional<BuildProblem> run_linker(const CustomSubmissionTarget& target, const fs::path& folder,
                                       Clock::time_point deadline, bool adapter) {
  // Not the programs of the workbook: bin/ holds solutions.
  return run_step(target, folder, deadline, link_command(target, folder, adapter),
                  {workbook_folder() / "common" / "custom_submission", target.build / "common"});
}

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
  require_machine(folder.parent_path(), target.build, to_string(target.device));
  write_atomically(empty, "\n");
  const auto deadline = Clock::time_point::max();
  std::optional<BuildProblem> problem = run_compiler(target, alone, deadline, empty);
  if (!problem) problem = run_linker(target, alone, deadline, false);
  if (!problem) return;
  require_machine(folder.parent_path(), target.build, to_string(target.device));
  throw EnvironmentError("Not even an empty file can be built here (" + problem->error.said() +
                         problem->message +
                         "). Does another build change this folder, or is the memory used up? "
                         "If not: cmake --build --preset lab, then run this again.");
}

// The compiled files are kept: objects and their lists of symbols, of all sources together.
constexpr std::uintmax_t kMostObjectBytes = std::uintmax_t{32} << 20;

/// The content of one file.
struct Text {
  fs::path name{};  ///< from the folder on
  std::string text{};
};

// Why a file of the folder is refused; empty if it is not.
std::string refused(const fs::path& folder, const fs::path& file) {
  // Includes the folders. Files made from it get longer names, and a name may not exceed 255 bytes.
  constexpr std::size_t kLongestName = 150;
  std::error_code unreadable;
  const std::string name = file.lexically_relative(folder).generic_string();
  if (name.size() > kLongestName) {
    return "a file's name has " + std::to_string(name.size()) + " bytes, more than " +
           std::to_string(kLongestName) + ": " + name.substr(0, kLongestName / 2) + "…";
  }
  if (!fs::is_regular_file(file, unreadable)) return name + " is no file";
  const fs::path way = fs::canonical(file).lexically_relative(fs::canonical(folder));
  if (way.empty() || *way.begin() == "..") {
    return name + " is a link to a file that is not part of the submission; hand in the file";
  }
  return {};
}

// @param problem  why one of the files is refused
std::vector<Text> read_all(const fs::path& folder, const std::vector<fs::path>& files,
                           std::string& problem) {
  std::vector<Text> texts;
  std::uintmax_t bytes = 0;
  for (const fs::path& file : files) {
    if (problem.empty()) problem = refused(folder, file);
    if (!problem.empty()) break;
    bytes += fs::file_size(file);
    if (bytes > kMostBuiltBytes || texts.size() >= kMostBuiltFiles) {
      problem = "There are more than " + std::to_string(kMostBuiltFiles) +
                " files, or they are larger than " + std::to_string(kMostBuiltBytes >> 20) +
                " MB together";
      break;
    }
    const fs::path name = file.lexically_relative(folder);
    texts.push_back({name, read_text(file)});
    // A compiler would take a precompiled header for its source, with code that nobody can read.
    if (texts.back().text.find('\0') != std::string::npos) {
      problem = name.generic_string() + " is no text";
    }
  }
  return texts;
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
  std::uint64_t memory = kMostMemory;  ///< of each compiler
};

// Counts what was compiled into a folder; a problem if it is too much.
std::optional<BuildProblem> too_large(const fs::path& folder, Allowed& allowed) {
  allowed.bytes += fs::file_size(folder / "source.o") + fs::file_size(folder / "symbols");
  if (allowed.bytes <= kMostObjectBytes) return std::nullopt;
  return BuildProblem{.kind = Kind::kRefused,
                      .message = "its object files and symbols are larger than " +
                                 std::to_string(kMostObjectBytes >> 20) + " MB together"};
}

// Of a step in a folder keeps what it made, or the log if it failed.
void keep_result(const CustomSubmissionTarget& target, const fs::path& folder,
                 const std::optional<BuildProblem>& problem, const std::string& all,
                 const std::vector<std::string>& made) {
  if (!problem) {
    remove_all_but(folder, made);
    return write_atomically(folder / kAllTexts, all);
  }
  remove_all_but(folder, {"compiler.log"});
  // Of an edited file errors are expected.
  if (problem->kind != Kind::kDoesNotCompile || target.edited) return;
  require_working_machine(target, folder);
  remove_all_but(folder, {"compiler.log"});
}

// Object files are kept, so that a change of one file among ten compiles only one.
Compiled compile(const Text& source, const std::vector<Text>& headers,
                 const CustomSubmissionTarget& target, Allowed& allowed) {
  const std::string all = joined({source}) + joined(headers);
  Compiled compiled{.folder = folder_for(target, source.name, "object", all)};
  auto& problem = compiled.problem;
  if (keep_folder(compiled.folder, all)) {
    problem = too_large(compiled.folder, allowed);
  } else if (Clock::now() > allowed.deadline) {
    problem =
        BuildProblem{.kind = Kind::kTakesTooLong,
                     .message = "its turn did not come in the time that all files have together"};
  } else {
    fill_folder(compiled.folder, [&](const fs::path& scratch) {
      write_all(scratch / kFiles, headers);
      write_all(scratch / kFiles, {source});
      problem = run_compiler(target, scratch, allowed.deadline, scratch / kFiles / source.name,
                             allowed.memory);
      if (!problem) problem = too_large(scratch, allowed);
      keep_result(target, scratch, problem, all, {"source.o", "symbols", "compiler.log"});
    });
  }
  if (!problem) {
    compiled.symbols = read_text(compiled.folder / "symbols");
    std::vector<std::string> may_call = target.libraries;
    // On a CPU nothing is withheld: what pages allow is a file's own affair, but for code.
    if (target.device == Device::kCpu) may_call.emplace_back("mprotect");
    // An edited file calls what mendable.hpp calls, and otherwise what the file itself may call.
    auto symbol = target.edited ? std::nullopt : find_symbol_problem(compiled.symbols, may_call);
    if (symbol) {
      problem = BuildProblem{.kind = Kind::kSymbol, .symbol = std::move(symbol)};
    }
  }
  if (problem) {
    problem->file = source.name.generic_string();
  } else if (target.device != Device::kGpu && calls_library(compiled.symbols, target.libraries)) {
    throw EnvironmentError(source.name.filename().string() +
                           " calls a library of the GPU, which cannot be emulated, and no GPU "
                           "answers here; check it on a machine that has one.");
  }
  return compiled;
}

std::string lines_of_warnings(const std::string& printed) {
  constexpr std::string_view kMark = ": warning: ";
  std::vector<std::string> found;
  std::size_t telling = 0;  // those that explain wrong results come first
  for (const std::string& line : lines_of(printed)) {
    const auto mark = line.find(kMark);
    if (mark == std::string::npos) continue;
    // FILE:LINE:COLUMN; a file in another folder is not the student's.
    std::string place = line.substr(0, mark);
    if (place.find("/common/") != std::string::npos || place.starts_with("/usr/")) continue;
    place.erase(std::min(place.rfind(':'), place.size()));
    place.erase(0, place.find_last_of('/') + 1);
    const std::string text = place + ": " + line.substr(mark + kMark.size());
    if (std::ranges::find(found, text) != found.end()) continue;
    const bool tells = text.find("uninitialized") != std::string::npos;
    const auto at = tells ? telling++ : found.size();
    found.insert(found.begin() + static_cast<std::ptrdiff_t>(at), text);
  }
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) {
    text += (i == 0 ? "" : "\n") + found[i];
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
  std::string problem;
  std::vector<Text> sources = read_all(submitted.folder, submitted.sources, problem);
  const std::vector<Text> headers = read_all(submitted.folder, submitted.headers, problem);
  if (!problem.empty()) {
    built.problem = BuildProblem{.kind = Kind::kRefused, .message = problem};
    return built;
  }
  if (submitted.edited) sources.front().text = *submitted.edited;
  if (!submitted.adapter.empty()) {
    sources.push_back({"adapter" + sources.front().name.extension().string(), submitted.adapter});
  }
  std::vector<Compiled> compiled(sources.size());
  Allowed allowed{.deadline =
                      std::min(submitted.deadline, Clock::now() + std::chrono::minutes(30))};
  const std::size_t at_once = std::clamp<std::size_t>(
      std::min<std::size_t>(compiled.size(), std::thread::hardware_concurrency()), 1,
      kMostCompilers);
  allowed.memory = kMostMemory / at_once;
  in_threads(compiled.size(), at_once,
             [&](std::size_t i) { compiled[i] = compile(sources[i], headers, target, allowed); });
  std::string printed;
  std::string symbols;  // the parts of the course interface may lie in several files
  for (const Compiled& each : compiled) {
    const fs::path log = each.folder / "compiler.log";
    if (fs::exists(log)) printed += printable(read_text(log)) + "\n";
    symbols += each.symbols;
    if (!built.problem) built.folder = each.folder, built.problem = each.problem;
  }
  built.warnings = lines_of_warnings(printed);
  if (built.problem) return built;
  const std::string all = joined(sources) + joined(headers);
  built.folder = folder_for(target, sources.front().name, "graded", all);
  built.program = built.folder / "program";
  built.form = interface_of(symbols);
  const bool adapter = built.form != FileInterface::kStages && submitted.adapter.empty();
  const std::string stranger = stranger_in(symbols);
  if (adapter && (!stranger.empty() || !has_convolution(symbols))) {
    built.problem = BuildProblem{.kind = Kind::kNoConvolution,
                                 .message = readable_symbol(stranger),
                                 .file = sources.front().name.generic_string()};
    return built;
  }
  if (keep_folder(built.folder, all)) return built;
  fill_folder(built.folder, [&](const fs::path& scratch) {
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      fs::copy_file(compiled[i].folder / "source.o",
                    scratch / ("source-" + std::to_string(i) + ".o"));
    }
    built.problem = run_linker(target, scratch, submitted.deadline, adapter);
    write_atomically(scratch / kDeviceFile, std::string(to_string(target.device)) + "\n");
    keep_result(target, scratch, built.problem, all, {"program", kDeviceFile, "compiler.log"});
  });
  return built;
}

fs::path workbook_folder() {
  return network_folder().parent_path().parent_path();  // of ROOT/common/network
}

std::vector<fs::path> headers_for_submissions() {
  std::vector<fs::path> readable;
  for (const char* room : {"base", "custom_submission", "device", "emulation", "stage", "timing"}) {
    add_room(workbook_folder() / "common" / room, readable);
  }
  return readable;
}

}  // namespace convlab::grader
