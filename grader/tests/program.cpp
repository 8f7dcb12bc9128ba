#include "grader/tests/program.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "common/network/preset.hpp"

namespace convlab::grader {

ProgramRun run_program(const std::string& name, const std::string& arguments,
                       const std::string& environment) {
  const std::string command = "cd '" + std::string(CONVLAB_SOURCE_DIR) + "' && " + environment +
                              " '" + CONVLAB_BINARY_DIR + "/" + name + "' " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no pipe");
  ProgramRun run;
  std::array<char, 4096> text{};
  for (std::size_t n = 0; (n = std::fread(text.data(), 1, text.size(), pipe)) > 0;) {
    run.output.append(text.data(), n);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "grader-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder");
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool has_default_weights() {
  return std::filesystem::exists(network_folder() / "weights" /
                                 (std::string(kDefaultPreset) + ".clw"));
}

}  // namespace convlab::grader
