#pragma once

#include <fstream>
#include <string>

#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"

namespace convlab::testing {

inline const std::string kRun = CONVLAB_BINARY_DIR "/convlab-run ";

struct Program {
  explicit Program(const std::string& text) { std::ofstream(folder.path() / "program.cu") << text; }
  [[nodiscard]] auto run(const std::string& words = "", const std::string& options = "") const {
    return run_command("cd '" + folder.path().string() + "' && " + kRun + options + "program.cu " +
                       words + " 2>&1");
  }
  TemporaryFolder folder;
};

}  // namespace convlab::testing
