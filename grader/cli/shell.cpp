#include "grader/cli/shell.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "common/error/error.hpp"

namespace convlab::grader {

ShellOutput run_shell(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    throw EnvironmentError("No process can be started; are too many running?");
  }
  ShellOutput output;
  std::array<char, 4096> bytes{};
  while (const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    output.text.append(bytes.data(), count);
  }
  const int status = ::pclose(pipe);
  constexpr int kSignal = 128;
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
  while (!output.text.empty() && output.text.back() == '\n') output.text.pop_back();
  return output;
}

}  // namespace convlab::grader
