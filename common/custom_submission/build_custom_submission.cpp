#include "common/custom_submission/build_custom_submission.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <utility>

#include "common/base/address_sanitizer.hpp"
#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

namespace fs = std::filesystem;

std::string script() {
  return CONVLAB_SOURCE_DIR "/common/custom_submission/build_custom_submission.sh";
}

// Only the first errors help; and a binary file must not disturb the terminal.
std::string beginning_of(const std::string& text) {
  constexpr int kLines = 40;
  constexpr int kWidth = 300;
  std::istringstream lines(text);
  std::string result;
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (++count > kLines) return result + "… and more\n";
    result += cut_to_columns(printable_line(line), kWidth).front() + "\n";
  }
  return result;
}

void run_step(const std::vector<std::string>& words, const fs::path& file, Device device) {
  const FinishedProcess run = run_process({.words = words, .output = Command::Output::kTogether});
  if (run.succeeded()) return;
  throw Error(ExitCode::kFallsShort,
              file.string() + " does not compile for " +
                  enum_name(device, {"the CPU", "the GPU", "the emulated device"}) +
                  "; the compiler says:\n" + beginning_of(run.output));
}

constexpr const char* kConvolutionOnCpu = "_Z16conv_forward_cpu";
constexpr const char* kConvolutionOnGpu = "_ZN12GPUInterface16conv_forward_gpuE";

// The names of functions that an object defines.
std::vector<std::string> defined_functions(const std::string& symbols) {
  std::vector<std::string> names;
  std::istringstream lines(symbols);
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find(" T ");
    if (end != std::string::npos) names.push_back(line.substr(0, end));
  }
  return names;
}

bool registers_stage(const std::string& symbols) {
  return symbols.find("StageRegistration") != std::string::npos ||
         symbols.find("_ZN7convlab8CpuStage") != std::string::npos;
}

const char* wanted_function(Device device) {
  return device == Device::kCpu ? "conv_forward_cpu as the course declares it "
                                  "(common/custom_submission/course_interface/cpu-new-forward.h)"
                                : "GPUInterface::conv_forward_gpu as the course declares it "
                                  "(common/custom_submission/course_interface/gpu-new-forward.h)";
}

// AddressSanitizer and the observation of accesses exclude each other; the former finds enough.
bool is_observed(const CustomSubmissionTarget& target) {
  return target.traced && !CONVLAB_ADDRESS_SANITIZER;
}

}  // namespace

std::vector<std::string> compile_command(const CustomSubmissionTarget& target, const fs::path& file,
                                         const fs::path& folder) {
  std::vector<std::string> words = {
      script(),      "compile",      target.build.string(), to_string(target.device),
      file.string(), folder.string()};
  if (target.device == Device::kGpu) {
    words.push_back(std::to_string(target.capability.major) +
                    std::to_string(target.capability.minor));
  }
  if (is_observed(target)) words.emplace_back("traced");
  return words;
}

std::vector<std::string> link_command(const CustomSubmissionTarget& target, const fs::path& folder,
                                      bool adapter) {
  std::vector<std::string> words = {script(), "link", target.build.string(),
                                    to_string(target.device), folder.string()};
  words.emplace_back(adapter ? "adapter" : "");
  if (target.device == Device::kGpu) {
    words.insert(words.end(), target.libraries.begin(), target.libraries.end());
  }
  return words;
}

FileInterface interface_of(const std::string& symbols) {
  FileInterface form = FileInterface::kStages;
  for (const std::string& name : defined_functions(symbols)) {
    if (!name.starts_with("_ZN12GPUInterface") && !name.starts_with(kConvolutionOnCpu)) continue;
    if (form == FileInterface::kStages) form = FileInterface::kCourse;
    // B, M, C, H, W, K and S, each an int.
    if (name.ends_with("iiiiiii")) form = FileInterface::kCourseWithStride;
  }
  return form;
}

bool has_convolution(const std::string& symbols) {
  const auto functions = defined_functions(symbols);
  return std::ranges::any_of(functions, [](const std::string& name) {
    return name.starts_with(kConvolutionOnGpu) || name.starts_with(kConvolutionOnCpu);
  });
}

fs::path folder_for(const CustomSubmissionTarget& target, const fs::path& file,
                    const std::string& kind, const std::string& text) {
  std::error_code missing;
  const char* optimise = std::getenv(kOptimise);
  std::string all = text + "\n" + (optimise == nullptr ? "" : optimise);
  // The objects that it is linked with may be rebuilt without this program.
  const std::string template_program = std::string("custom-submission-") + to_string(target.device);
  for (const fs::path& program :
       {fs::path("/proc/self/exe"), target.build / "custom_submission" / template_program,
        target.build / "bin" / "convlab-rewrite"}) {
    all += std::to_string(fs::last_write_time(program, missing).time_since_epoch().count()) + " ";
  }
  // The script and its lists, in whatever order.
  std::uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(script()).parent_path())) {
    sum += static_cast<std::uint64_t>(entry.last_write_time(missing).time_since_epoch().count());
  }
  all += std::to_string(sum);
  for (const std::string& library : target.libraries) all += " " + library;
  if (is_observed(target)) all += " traced";
  const std::size_t key = std::hash<std::string>{}(all);
  return target.build / "sources" /
         (file.stem().string() + "-" + kind + "-" + to_string(target.device) +
          to_string(target.capability) + "-" + std::to_string(key));
}

void fill_folder(const fs::path& folder, const std::function<void(const fs::path&)>& make) {
  static std::atomic<int> count = 0;
  const fs::path scratch =
      folder.string() + "." + std::to_string(::getpid()) + "." + std::to_string(count++);
  std::error_code failed;
  fs::remove_all(scratch, failed);
  fs::create_directories(scratch, failed);
  if (failed) {
    throw EnvironmentError("Nothing can be compiled in " + scratch.parent_path().string() + ": " +
                           failed.message() + ".");
  }
  std::error_code ignored;
  try {
    make(scratch);
  } catch (...) {
    fs::remove_all(scratch, ignored);
    throw;
  }
  // Another process may have been first and may run the program in it: no file may be missing at
  // any moment.
  if (::renameat2(AT_FDCWD, scratch.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
    fs::remove_all(folder, ignored);
    fs::rename(scratch, folder, failed);
  }
  fs::remove_all(scratch, ignored);
}

bool keep_folder(const fs::path& folder, const std::string& text) {
  constexpr std::size_t kNewest = 100;
  constexpr auto kUnused = std::chrono::hours(1);
  const auto now = fs::file_time_type::clock::now();
  // Other processes make and remove folders meanwhile, so no error matters.
  std::error_code ignored;
  fs::last_write_time(folder, now, ignored);
  const fs::path kept = folder / kAllTexts;
  const bool is_made = fs::exists(kept, ignored) && read_text(kept) == text;
  std::vector<std::pair<fs::file_time_type, fs::path>> folders;
  fs::directory_iterator end;
  for (fs::directory_iterator at(folder.parent_path(), ignored); !ignored && at != end;
       at.increment(ignored)) {
    std::error_code gone;
    const fs::file_time_type used = at->last_write_time(gone);
    if (!gone) folders.emplace_back(used, at->path());
  }
  std::sort(folders.rbegin(), folders.rend());
  for (std::size_t i = kNewest; i < folders.size(); ++i) {
    if (now - folders[i].first > kUnused) fs::remove_all(folders[i].second, ignored);
  }
  return is_made;
}

void require_source(const fs::path& file) {
  const std::string name = printable_line(file.string());
  const std::string& raw = file.native();
  if (raw.find_first_of("\"\\") != std::string::npos || std::ranges::any_of(raw, [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
      })) {
    throw UsageError("The name of the file, " + name +
                     ", has a quotation mark, a backslash or a line break; rename it.");
  }
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(file, failed);
  if (!fs::exists(status)) throw UsageError("There is no file " + name + " to compile.");
  if (!fs::is_regular_file(status)) {
    throw UsageError(name + " is a folder, a link or a device; give the source file itself.");
  }
  constexpr std::uintmax_t kLargest = std::uintmax_t{4} << 20;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (!failed && size > kLargest) {
    throw UsageError(name + " has " + std::to_string(size >> 20) +
                     " MB; a source file has less than 4. Give the file that you wrote.");
  }
  const std::string text = read_text(file);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError(name + " is empty; save your work into it first.");
  }
  if (const auto at = text.find('\0'); at != std::string::npos) {
    throw UsageError(name + " is no text (byte " + std::to_string(at) +
                     " is 0); give the source file, saved as UTF-8.");
  }
}

fs::path build_custom_submission(const CustomSubmissionTarget& target, const fs::path& file) {
  require_source(file);
  const fs::path source = fs::canonical(file);
  // Quoted includes are looked up in the file's folder, so the folder counts, too.
  const std::string all = source.string() + read_text(source);
  const fs::path folder = folder_for(target, source, "own", all);
  fs::path program = folder / "program";
  if (keep_folder(folder, all)) return program;
  fill_folder(folder, [&](const fs::path& scratch) {
    run_step(compile_command(target, source, scratch), file, target.device);
    const std::string symbols = read_text(scratch / "symbols");
    const bool adapter = interface_of(symbols) != FileInterface::kStages;
    if (adapter ? !has_convolution(symbols) : !registers_stage(symbols)) {
      throw Error(ExitCode::kFallsShort, file.string() + " does not define " +
                                             wanted_function(target.device) +
                                             "; check the order and the types of its parameters.");
    }
    run_step(link_command(target, scratch, adapter), file, target.device);
    write_atomically(scratch / kAllTexts, all);
  });
  return program;
}

}  // namespace convlab
