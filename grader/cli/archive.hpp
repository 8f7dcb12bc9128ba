#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// A folder in a given place that is removed with the object; its files can be renamed within its
/// file system.
class FolderBeside {
 public:
  /// @param beside  where it is made; @throws EnvironmentError if nothing can be written there
  explicit FolderBeside(const std::filesystem::path& beside);
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;
  ~FolderBeside();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A .tar.gz of PARENT/NAME. The same files give the same bytes: sorted names, no dates, no owners,
/// ordinary permissions. @throws EnvironmentError with tar's reason
std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name);

}  // namespace convlab::grader
