#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/device/device_info.hpp"

namespace convlab {

/// What a given file is compiled for, and where. build_given_file.sh does the work, with CMake's
/// own commands.
struct GivenFileTarget {
  std::filesystem::path build{};   ///< the build folder, above bin/
  Device device = Device::kCpu;    ///< kCpu for the course's conv_forward_cpu, else GPUInterface
  ComputeCapability capability{};  ///< of the GPU that will run it; {} elsewhere
  std::vector<std::string> libraries{};  ///< of the GPU that it may call: "cublas"
  bool lockstep =
      false;  ///< emulated, with the lanes of a warp in step (common/emulation/lockstep)
  std::string optimise{};  ///< such as -O0; empty: CONVLAB_SUBMISSION_OPTIMISE, or the usual
};

/// The words that compile a file: `folder` gets source.o and symbols.
std::vector<std::string> compile_command(const GivenFileTarget& target,
                                         const std::filesystem::path& file,
                                         const std::filesystem::path& folder);

/// The words that link what was compiled: `folder` gets the program.
/// @param adapter  whether the file implements the course's interface
std::vector<std::string> link_command(const GivenFileTarget& target,
                                      const std::filesystem::path& folder, bool adapter);

/// Refuses what cannot be a source file, before anything is done with it: a folder, a symbolic
/// link, a device, an empty, huge or binary file, a name that a compiler's messages cannot show.
/// @throws UsageError with one sentence that says what to give instead
void require_source(const std::filesystem::path& file);

/// What a file implements: stages of its own, or a form of the course's interface.
enum class FileInterface { kStages, kCourse, kCourseWithStride };

/// "stages", "course", "course-with-stride".
const char* to_string(FileInterface form);

/// What an object implements, a part of it or all.
/// @param symbols  its external symbols, as `nm --extern-only --format=posix` lists them
FileInterface interface_of(const std::string& symbols);

/// Whether an object that implements the course's interface has the function that convolves.
bool has_convolution(const std::string& symbols);

/// A folder below BUILD/sources for everything that is made of a file. Another text, device or
/// build gives another folder.
/// @param kind  what sorts of programs are told apart by, "graded"
std::filesystem::path folder_for(const GivenFileTarget& target, const std::filesystem::path& file,
                                 const std::string& kind, const std::string& text);

/// Lets `make` fill a scratch folder beside `folder` and puts it in its place. Several processes
/// may make the same folder at the same time, while others use what is in it: no file that all of
/// them make is missing at any moment. If `make` throws, nothing is left.
/// @throws EnvironmentError if the folder cannot be made
void fill_folder(const std::filesystem::path& folder,
                 const std::function<void(const std::filesystem::path& scratch)>& make);

/// Says that a folder of folder_for is still in use. Of the others below BUILD/sources, all go that
/// nobody used for an hour, except for the newest hundred: each version of a file has a folder.
void keep_folder(const std::filesystem::path& folder);

/// Makes a program like m1 or m2 of a file, or finds the one that was made of the same text before.
/// @return the program; it lies in the build folder, below sources/
/// @throws UsageError if there is no such file
/// @throws Error (exit code 1) with the compiler's words if it does not compile, or if it holds
/// neither the course's interface nor a stage
std::filesystem::path build_given_file(const GivenFileTarget& target,
                                       const std::filesystem::path& file);

}  // namespace convlab
