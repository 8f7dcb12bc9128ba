#include "common/custom_submission/build_custom_submission.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <utility>

#include "common/base/address_sanitizer.hpp"
#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

namespace fs = std::filesystem;

std::string script() {
  return CONVLAB_SOURCE_DIR "/common/custom_submission/build_custom_submission.sh";
}

// Only the first errors help; and a binary file must not disturb the terminal.
std::string beginning_of(const std::string& text) {
  constexpr std::size_t kLines = 40;
  constexpr int kWidth = 300;
  const std::vector<std::string> lines = lines_of(text);
  std::string result;
  for (std::size_t i = 0; i < std::min(kLines, lines.size()); ++i) {
    result += cut_to_columns(printable_line(lines[i]), kWidth).front() + "\n";
  }
  return result + (lines.size() > kLines ? "… and more\n" : "");
}

void run_step(const std::vector<std::string>& words, const fs::path& file, Device device) {
  const FinishedProcess run = run_process({.words = words, .output = Command::Output::kTogether});
  if (run.succeeded()) return;
  throw Error(ExitCode::kFallsShort,
              file.string() + " does not compile for " +
                  enum_name(device, {"the CPU", "the GPU", "the emulated device"}) +
                  "; the compiler says:\n" + beginning_of(run.output));
}

// The names of functions that an object defines.
std::vector<std::string> defined_functions(const std::string& symbols) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(symbols)) {
    const auto end = line.find(" T ");
    if (end != std::string::npos) names.push_back(line.substr(0, end));
  }
  return names;
}

constexpr const char* kConvolutionOnCpu = "_Z16conv_forward_cpu";
constexpr const char* kConvolutionOnGpu = "_ZN12GPUInterface16conv_forward_gpuE";
constexpr const char* kOneFunction = "_Z21conv_forward_gpu_full";
constexpr const char* kOneMember = "_ZN12GPUInterface21conv_forward_gpu_fullE";

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
  if (target.edited) words.emplace_back("edited");
  if (target.sized) words.emplace_back("sized");
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
    if (!name.starts_with("_ZN12GPUInterface") && !name.starts_with(kConvolutionOnCpu) &&
        !name.starts_with(kOneFunction)) {
      continue;
    }
    if (form == FileInterface::kStages) form = FileInterface::kCourse;
    // B, M, C, H, W, K and S, each an int.
    if (name.ends_with("iiiiiii")) form = FileInterface::kCourseWithStride;
  }
  return form;
}

bool has_convolution(const std::string& symbols) {
  const auto functions = defined_functions(symbols);
  return std::ranges::any_of(functions, [](const std::string& name) {
    return name.starts_with(kConvolutionOnGpu) || name.starts_with(kConvolutionOnCpu) ||
           name.starts_with(kOneFunction) || name.starts_with(kOneMember);
  });
}

std::string stranger_in(const std::string& symbols) {
  const auto functions = defined_functions(symbols);
  const auto named = [&](const std::string& beginning, const std::string& end) {
    return std::ranges::find_if(functions, [&](const std::string& name) {
      return name.starts_with(beginning) && name.ends_with(end);
    });
  };
  // Output, input and mask; then six or seven sizes.
  for (const auto& [name, ends] : std::map<std::string, std::vector<std::string>>{
           {kConvolutionOnCpu, {"PfPKfS1_iiiiii", "PfPKfS1_iiiiiii"}},
           {kOneFunction, {"PfPKfS1_iiiiii", "PfS_S_iiiiii"}}}) {
    const auto alone = named(name, "");
    const bool is_right = std::ranges::any_of(
        ends, [&](const auto& end) { return named(name, end) != functions.end(); });
    if (alone != functions.end() && !is_right) return *alone;
  }
  if (named("_ZN12GPUInterface", "") == functions.end()) return {};
  for (const std::string part :
       {"16conv_forward_gpu", "23conv_forward_gpu_prolog", "23conv_forward_gpu_epilog"}) {
    const auto alone = named("_Z" + part + "P", "");
    const bool has_member = named("_ZN12GPUInterface" + part + "E", "") != functions.end();
    if (alone != functions.end() && !has_member) return *alone;
  }
  return {};
}

fs::path folder_for(const CustomSubmissionTarget& target, const fs::path& file,
                    const std::string& kind, const std::string& text) {
  std::error_code missing;
  const char* optimise = std::getenv(kOptimise);
  std::string all = text + "\n" + (optimise == nullptr ? "" : optimise);
  // What makes it: the objects that it is linked with may be rebuilt without this program.
  std::vector<fs::path> makers = {
      "/proc/self/exe", target.build / "bin" / "convlab-rewrite",
      target.build / "custom_submission" /
          (std::string("custom-submission-") + to_string(target.device))};
  for (const auto& entry : fs::directory_iterator(fs::path(script()).parent_path())) {
    makers.push_back(entry.path());
  }
  std::uint64_t sum = 0;  // in whatever order
  for (const fs::path& each : makers) {
    sum +=
        static_cast<std::uint64_t>(fs::last_write_time(each, missing).time_since_epoch().count());
  }
  all += std::to_string(sum);
  for (const std::string& library : target.libraries) all += " " + library;
  if (is_observed(target)) all += " traced";
  if (target.sized) all += " sized";
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
  // any moment. Who has just looked up the folder would miss the files of one that is replaced.
  fs::rename(scratch, folder, failed);
  const auto text_of = [](const fs::path& made) {
    std::error_code none;
    return fs::exists(made / kAllTexts, none) ? read_text(made / kAllTexts) : std::string();
  };
  const bool is_made =
      !failed || (text_of(folder) == text_of(scratch) && !text_of(scratch).empty());
  if (!is_made &&
      ::renameat2(AT_FDCWD, scratch.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
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
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(file, failed);
  if (!fs::exists(status)) throw UsageError("There is no file " + name + " to compile.");
  const auto refuse_if = [&](bool is_wrong, const std::string& why) {
    if (is_wrong) throw UsageError(name + " " + why + "; give the source file that you wrote.");
  };
  refuse_if(std::ranges::any_of(
                file.native(),
                [](unsigned char c) { return c < ' ' || c == 0x7f || c == '"' || c == '\\'; }),
            "has a quotation mark, a backslash or a line break in its name");
  refuse_if(!fs::is_regular_file(status), "is a folder, a link or a device");
  refuse_if(fs::file_size(file) > std::uintmax_t{4} << 20, "has more than 4 MB");
  const std::string text = read_text(file);
  refuse_if(text.find_first_not_of(" \t\r\n") == std::string::npos, "is empty");
  refuse_if(text.find('\0') != std::string::npos, "is no text");
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
    const bool registers_stage = symbols.find("StageRegistration") != std::string::npos ||
                                 symbols.find("_ZN7convlab8CpuStage") != std::string::npos;
    if (adapter ? !has_convolution(symbols) : !registers_stage) {
      const bool on_cpu = target.device == Device::kCpu;
      throw Error(ExitCode::kFallsShort,
                  file.string() + " does not define " +
                      (on_cpu ? "conv_forward_cpu" : "GPUInterface::conv_forward_gpu") +
                      " as the course declares it (common/custom_submission/course_interface/" +
                      (on_cpu ? "cpu" : "gpu") +
                      "-new-forward.h); check the order and the types of its parameters.");
    }
    run_step(link_command(target, scratch, adapter), file, target.device);
    write_atomically(scratch / kAllTexts, all);
  });
  return program;
}

}  // namespace convlab
