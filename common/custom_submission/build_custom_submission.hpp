#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/device/device_info.hpp"

namespace convlab {

/// The variable with an optimisation, "-O1", for tests that compile many files.
inline constexpr const char* kOptimise = "CONVLAB_SUBMISSION_OPTIMISE";

/// The target and the place of a custom submission's build. build_custom_submission.sh does the
/// work, with CMake's own commands.
struct CustomSubmissionTarget {
  std::filesystem::path build{};   ///< the build folder, above bin/
  Device device = Device::kCpu;    ///< kCpu for the course's conv_forward_cpu, else GPUInterface
  ComputeCapability capability{};  ///< of the GPU that will run it; {} elsewhere
  std::vector<std::string> libraries{};  ///< of the GPU that it may call: "cublas"
  bool edited = false;  ///< of checks/mend: not optimised, and all errors are listed
  bool sized = false;   ///< emulated, sums and products tell if their type cannot hold them
  bool traced = false;  ///< emulated, each access to memory is observed (common/emulation/trace)
};

/// The command lines of build_custom_submission.sh: one that compiles a file, `folder` gets
/// source.o and symbols; one that links it, `folder` gets the program.
/// @param adapter  whether the file implements the course interface
std::vector<std::string> compile_command(const CustomSubmissionTarget& target,
                                         const std::filesystem::path& file,
                                         const std::filesystem::path& folder);
std::vector<std::string> link_command(const CustomSubmissionTarget& target,
                                      const std::filesystem::path& folder, bool adapter);

/// Refuses at the start what cannot be a source file: a folder, a symbolic link, a device, an
/// empty, huge or binary file, a name that a compiler's messages cannot show.
/// @throws UsageError with one sentence that says what to give instead
void require_source(const std::filesystem::path& file);

/// What a file implements: stages of its own, or a form of the course interface.
enum class FileInterface { kStages, kCourse, kCourseWithStride };

/// What an object file implements, completely or in part.
/// @param symbols  its external symbols, as `nm --extern-only --format=posix` lists them
FileInterface interface_of(const std::string& symbols);

/// Whether an object file with the course interface contains the function that convolves.
bool has_convolution(const std::string& symbols);

/// A function that has a name of the course interface, but other parameters, or does not belong to
/// GPUInterface, while the file has none that is right; its symbol. Empty if there is none.
std::string stranger_in(const std::string& symbols);

/// A folder below BUILD/sources for everything that is built from a file. Another text, device or
/// build gives another folder.
/// @param kind  distinguishes kinds of programs, "graded"
std::filesystem::path folder_for(const CustomSubmissionTarget& target,
                                 const std::filesystem::path& file, const std::string& kind,
                                 const std::string& text);

/// Lets `make` fill a scratch folder and then replaces `folder` by it, so that no file of it is
/// missing at any moment, whoever else makes or uses it. If `make` throws, nothing is left.
/// @throws EnvironmentError if the folder cannot be made
void fill_folder(const std::filesystem::path& folder,
                 const std::function<void(const std::filesystem::path& scratch)>& make);

/// A file in such a folder: the text that it was made of.
inline constexpr const char* kAllTexts = "all-texts";

/// Marks a folder of folder_for as in use. Removes all others below BUILD/sources that were not
/// used for an hour, except the newest hundred: each version of a file has a folder.
/// @return whether it was made of this text
bool keep_folder(const std::filesystem::path& folder, const std::string& text);

/// Builds a program like m1 or m2 from a file, or finds the one built from the same text before.
/// @return the program; it lies in the build folder, below sources/
/// @throws UsageError if there is no such file
/// @throws Error (exit code 1) with the compiler's message if it does not compile, or if it has
/// neither the course interface nor a stage
std::filesystem::path build_custom_submission(const CustomSubmissionTarget& target,
                                              const std::filesystem::path& file);

}  // namespace convlab
