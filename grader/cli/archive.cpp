#include "grader/cli/archive.hpp"

#include <cstdlib>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"

namespace convlab::grader {

FolderBeside::FolderBeside(const std::filesystem::path& beside) {
  std::string name = (beside / "scratch-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw EnvironmentError("Nothing can be written to " + beside.string() +
                           "; check its permissions and the disk.");
  }
  path_ = name;
}

FolderBeside::~FolderBeside() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name) {
  const FolderBeside scratch(parent);
  const auto tar = scratch.path() / "archive.tar";
  const FinishedProcess run =
      run_process({.words = {"tar", "--create", "--format=ustar", "--sort=name", "--mtime=@0",
                             "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX",
                             "--file=" + tar.string(), "--directory=" + parent.string(), name}});
  if (!run.succeeded()) throw EnvironmentError("tar failed: " + trimmed_end(run.errors) + ".");
  constexpr std::size_t kLargest = std::size_t{256} << 20;
  return gzip(read_bytes(tar, kLargest));
}

}  // namespace convlab::grader
