#include "grader/submission/sandbox/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/base/error.hpp"

namespace convlab::grader {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  std::string name = (parent / "convlab-XXXXXX").string();
  if (failed || ::mkdtemp(name.data()) == nullptr) {
    throw EnvironmentError("Cannot make a folder for the submission in " + parent.string() + ": " +
                           (failed ? failed.message() : std::strerror(errno)) + ".");
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace convlab::grader
