#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/testing/temporary_folder.hpp"

namespace convlab::testing {

struct CommandResult {
  int exit_code = -1;  ///< as a shell reports it: 128 + signal for a killed program
  std::string out;
  std::string err;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Runs a shell command line as a user would, without a terminal.
inline CommandResult run_command(const std::string& command) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const std::string err = (folder.path() / "err").string();
  const int status =
      std::system(("( " + command + " ) </dev/null >'" + out + "' 2>'" + err + "'").c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = content_of(out),
          .err = content_of(err)};
}

}  // namespace convlab::testing
