#include "grader/cli/archive.hpp"

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"

namespace convlab::grader {

std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name) {
  const ScratchFolder scratch(parent);
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
