#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/custom_submission/build_custom_submission.hpp"
#include "grader/submission/build_errors.hpp"

namespace convlab::grader {

/// The largest submission that is built; no convolution has this size.
inline constexpr std::size_t kMostBuiltBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMostBuiltFiles = 100;

/// For a whole check, with all that is compiled for it: far longer than honest work takes.
inline constexpr std::chrono::hours kMostTime{3};

/// The files of a submission: sources, each compiled alone, and headers that they may include.
struct SubmittedSources {
  std::filesystem::path folder{};                ///< contains all of them; no link leads out of it
  std::vector<std::filesystem::path> sources{};  ///< .cpp, .cu
  std::vector<std::filesystem::path> headers{};  ///< .h, .hpp, .cuh
  std::optional<std::string> edited{};           ///< stands for the text of the only source
  /// Of an edited file with the course interface, the program calls it through this source.
  std::string adapter{};
  /// Then nothing of them is compiled any more, for whatever program.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + kMostTime;
};

/// One file alone.
SubmittedSources only(const std::filesystem::path& file);

/// A forbidden function that an object file uses or defines.
struct SymbolProblem {
  enum class Kind {
    kLibrary,    ///< it calls a library that does the exercise
    kForbidden,  ///< it calls a function that its sandbox refuses
    kReplaced,   ///< it defines a function by which the grader observes it
  };
  Kind kind = Kind::kForbidden;
  std::string name{};  ///< without mangling
};

/// By the rules of symbols.txt; the sandbox stops system calls that use no function.
/// @param symbols  as `nm --extern-only --format=posix` lists them
/// @param allowed  beginnings of names that it may call all the same: "cublas"
std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols,
                                                 const std::vector<std::string>& allowed = {});

/// A mangled name as its author wrote it, on one line; not if that would be endless.
std::string readable_symbol(const std::string& name);

/// Whether an object file calls one of these libraries.
bool calls_library(const std::string& symbols, const std::vector<std::string>& libraries);

/// Why no program could be built from them.
struct BuildProblem {
  enum class Kind { kDoesNotCompile, kTakesTooLong, kSymbol, kNoConvolution, kRefused };
  Kind kind = Kind::kDoesNotCompile;
  BuildError error{};  ///< of kDoesNotCompile
  /// Of kRefused: why; of kTakesTooLong: what ended it; of kNoConvolution: the function that has
  /// the name of one that is called (stranger_in), if there is one.
  std::string message{};
  std::optional<SymbolProblem> symbol{};  ///< of kSymbol
  std::string file{};                     ///< which one, from the folder on; empty when linking
};

struct BuiltSubmission {
  std::filesystem::path program{};  ///< answers --serve
  std::filesystem::path folder{};   ///< where it lies, with compiler.log
  FileInterface form = FileInterface::kStages;
  std::optional<BuildProblem> problem{};
  /// "conv.cu:31: 'sum' is used uninitialized", a line each; at most three.
  std::string warnings{};
};

/// Builds a program for the grader. Copies the files to a folder below build/sources, compiles each
/// source in isolation, checks its symbols and makes its functions local, so that they cannot
/// replace others. Does not compile the same text twice. Takes at most half an hour.
/// @throws EnvironmentError if the build folder cannot be written, or lacks the commands
BuiltSubmission build_submission(const SubmittedSources& submitted,
                                 const CustomSubmissionTarget& target);

/// The folder that a submission must not read: it holds solutions and other people's work.
std::filesystem::path workbook_folder();

/// The headers of the workbook that a compiler of a submission may read.
std::vector<std::filesystem::path> headers_for_submissions();

/// After a failed build: asks the machine, because a source can make a compiler print anything.
/// @throws EnvironmentError if the folder has no room, or if there is a missing_tool
void require_machine(const std::filesystem::path& folder, const std::filesystem::path& build,
                     const std::string& device);

/// The configured compiler, or rewriter, that can no longer be executed; empty if all exist.
/// @param build   the build folder, with custom_submission/
/// @param device  "cpu", "emulated" or "gpu"
std::string missing_tool(const std::filesystem::path& build, const std::string& device);

/// Of this build's compilers, "/apps/cuda-13/bin" and its neighbours; the system's are known.
std::vector<std::filesystem::path> tool_folders(const std::filesystem::path& build,
                                                const std::string& device);

/// How many times slower this machine and build are than those for which the time limits were
/// chosen, at least 1: the processor time of a million loads, additions and stores, best of five.
double slowness();

/// Registers of a thread of each kernel, by its name without namespaces and template arguments; of
/// several with one name the most. nvcc, which needs no GPU, compiles the files in a sandbox for
/// compute capability 9.0.
/// @return none without nvcc (CUDACXX, or where packages put it), or if it does not take the files
std::map<std::string, int> kernel_registers(const SubmittedSources& submitted);

/// From what `nvcc -Xptxas -v` prints.
std::map<std::string, int> registers_printed(const std::string& printed);

/// Those of launched kernels, by the name at the launch. One that is launched through a pointer has
/// the pointer's name: it takes at most what those do that have no other launch.
std::map<std::string, int> registers_of(const std::map<std::string, int>& known,
                                        const std::vector<std::string>& launched);

}  // namespace convlab::grader
