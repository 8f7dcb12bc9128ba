#include "common/given_file/build_source.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/process/shell_word.hpp"

namespace convlab {

namespace {

// The first errors are what helps; and a file that is no text must not disturb the terminal.
std::string beginning_of(const std::string& text) {
  constexpr int kLines = 40;
  constexpr std::size_t kWidth = 300;
  std::istringstream lines(text);
  std::string result;
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (++count > kLines) return result + "… and more\n";
    for (char& c : line) {
      if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f') c = '?';
    }
    result += line.substr(0, kWidth) + "\n";
  }
  return result;
}

}  // namespace

std::filesystem::path build_source(const std::filesystem::path& file, Device device) {
  if (!std::filesystem::is_regular_file(file)) {
    throw UsageError("There is no file " + file.string() + " to compile.");
  }
  const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  const auto source = std::filesystem::canonical(file);
  // Another text, another place (for quoted includes) or a newer build makes another program.
  const auto compiler = build / "compile-source";
  std::error_code missing;
  const auto built = std::filesystem::last_write_time("/proc/self/exe", missing);
  const std::size_t key =
      std::hash<std::string>{}(source.string() + "\n" + read_text(source) + "\n" +
                               std::to_string(built.time_since_epoch().count()));
  const auto folder =
      build / "sources" /
      (source.stem().string() + "-" + to_string(device) + "-" + std::to_string(key));
  auto program = folder / "program";
  if (std::filesystem::exists(program)) return program;

  // Made beside, then renamed: two graders may want the same program at the same time.
  const std::filesystem::path scratch = folder.string() + "." + std::to_string(getpid());
  std::filesystem::create_directories(scratch);
  const std::string log = (scratch / "compiler.log").string();
  const std::string command = shell_word(compiler.string()) + " " + to_string(device) + " " +
                              shell_word(source.string()) + " " + shell_word(scratch.string()) +
                              " >" + shell_word(log) + " 2>&1";
  const int status = std::system(command.c_str());
  const std::string words = beginning_of(read_text(log));
  if (status != 0) {
    std::filesystem::remove_all(scratch, missing);
    throw Error(ExitCode::kFallsShort, file.string() + " does not compile for " +
                                           (device == Device::kCpu   ? "the CPU"
                                            : device == Device::kGpu ? "the GPU"
                                                                     : "the emulated device") +
                                           "; the compiler says:\n" + words);
  }
  std::filesystem::rename(scratch, folder, missing);
  if (missing) std::filesystem::remove_all(scratch, missing);  // the other one was first
  return program;
}

}  // namespace convlab
