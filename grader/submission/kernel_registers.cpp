#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "common/base/scratch_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

fs::path nvcc() {
  const char* chosen = std::getenv("CUDACXX");
  if (chosen != nullptr) return fs::exists(chosen) ? fs::path(chosen) : fs::path();
  for (const char* place : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"}) {
    if (fs::exists(place)) return place;
  }
  return {};
}

// "convlab::multiply<3>(float*)" is "multiply".
std::string plain_name(std::string name) {
  constexpr std::string_view kNameless = "(anonymous namespace)::";
  for (auto at = name.find(kNameless); at != std::string::npos; at = name.find(kNameless)) {
    name.erase(at, kNameless.size());
  }
  name = name.substr(0, name.find_first_of("<("));
  const auto before = name.find_last_of(": ");
  return before == std::string::npos ? name : name.substr(before + 1);
}

}  // namespace

std::map<std::string, int> registers_printed(const std::string& printed) {
  std::map<std::string, int> registers;
  std::string kernel;
  for (const std::string& line : lines_of(printed)) {
    constexpr std::string_view kEntry = "Compiling entry function '";
    constexpr std::string_view kUsed = "Used ";
    if (const auto at = line.find(kEntry); at != std::string::npos) {
      const std::string rest = line.substr(at + kEntry.size());
      kernel = plain_name(readable_symbol(rest.substr(0, rest.find('\''))));
    } else if (const auto used = line.find(kUsed); used != std::string::npos && !kernel.empty()) {
      int& most = registers[kernel];
      most = std::max(most, std::atoi(line.c_str() + used + kUsed.size()));
    }
  }
  return registers;
}

std::map<std::string, int> kernel_registers(const SubmittedSources& submitted) {
  const fs::path compiler = nvcc();
  if (compiler.empty()) return {};
  const fs::path course = workbook_folder();
  const ScratchFolder scratch;
  std::vector<std::string> words = {
      "-std=c++20",        "-w",          "--expt-relaxed-constexpr",
      "--extended-lambda", "-arch=sm_90", "-cubin",
      "-Xptxas=-v",        "-o",          scratch.path() / "kernels.cubin"};
  for (const fs::path& headers :
       {scratch.path(), course, course / "common/custom_submission/course_interface"}) {
    words.insert(words.end(), {"-I", headers});
  }
  // What the compiler said; another version of it is another file, or a newer one.
  const fs::path kept =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "registers";
  std::string texts = fs::canonical(compiler).string() +
                      std::to_string(fs::last_write_time(compiler).time_since_epoch().count());
  const auto copy = [&](const fs::path& file) {
    const fs::path copied = scratch.path() / file.lexically_relative(submitted.folder);
    fs::create_directories(copied.parent_path());
    const std::string text = read_text(file);
    write_atomically(copied, text);
    texts += file.string() + text;
    return copied;
  };
  for (const fs::path& header : submitted.headers) copy(header);
  std::map<std::string, int> registers;
  for (const fs::path& source : submitted.sources) {
    if (source.extension() != ".cu") continue;
    std::vector<std::string> of_source = words;
    of_source.push_back(copy(source));
    const fs::path said = kept / (std::to_string(std::hash<std::string>()(texts)) + ".txt");
    if (!fs::exists(said)) {
      ChildProcess process(compiler, of_source,
                           {.policy = {.kind = SandboxKind::kCompiler,
                                       .readable = headers_for_submissions(),
                                       .secret = course,
                                       .cpu_seconds = 150,
                                       .data_bytes = std::uint64_t{8} << 30},
                            .folder = scratch.path(),
                            .kept_output = std::size_t{1} << 20});
      const Ending ending = process.wait(std::chrono::minutes(2));
      if (ending.kind != Ending::Kind::kExited || ending.code != 0) continue;
      constexpr std::ptrdiff_t kMost = 200;
      std::error_code missing;
      if (std::distance(fs::directory_iterator(kept, missing), {}) > kMost) fs::remove_all(kept);
      write_atomically(said, process.output_head());
    }
    for (const auto& [kernel, count] : registers_printed(read_text(said))) {
      registers[kernel] = std::max(registers[kernel], count);
    }
  }
  return registers;
}

std::map<std::string, int> registers_of(const std::map<std::string, int>& known,
                                        const std::vector<std::string>& launched) {
  std::map<std::string, int> others = known;
  for (const std::string& name : launched) others.erase(plain_name(name));
  int most = 0;
  for (const auto& [name, registers] : others) most = std::max(most, registers);
  std::map<std::string, int> of_launched;
  for (const std::string& name : launched) {
    const auto found = known.find(plain_name(name));
    of_launched[name] = found != known.end() ? found->second : most;
  }
  return of_launched;
}

}  // namespace convlab::grader
