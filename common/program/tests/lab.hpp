#pragma once

#include <filesystem>
#include <string>

#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/data/tests/made_up_data.hpp"

namespace convlab::testing {

/// Runs the workbook's programs on a small generated data set, so that no test needs an installed
/// one. The variable hides a GPU of this machine.
class Lab {
 public:
  explicit Lab(int images = 60) {
    write_dataset(folder_.path(), Split::kTest, synthetic_dataset(images, 1));
  }

  [[nodiscard]] CommandResult run(const std::string& command) const {
    return run_command("CUDA_VISIBLE_DEVICES=-1 CONVLAB_DATA='" + folder_.path().string() +
                       "' " CONVLAB_BINARY_DIR "/" + command);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace convlab::testing
