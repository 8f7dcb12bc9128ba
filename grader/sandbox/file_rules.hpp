#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// Which files a program may reach, enforced by Landlock (Linux 5.13). It reads the system's files,
/// uses devices, and writes only into its own folder. It cannot read homes, temporary folders or
/// the course, where answers and other people's work lie, nor what /proc says about other
/// processes.
class FileRules {
 public:
  /// @param program  may be executed, as may its emulated sibling
  /// @param folder   where it may write and remove
  /// @param secret   the course: nothing inside or above it is readable
  /// @param readable what else it may read and execute
  FileRules(const std::filesystem::path& program, std::string folder,
            const std::filesystem::path& secret,
            const std::vector<std::filesystem::path>& readable);

  /// Applies to the calling process, permanently and through exec. Allocates nothing, so it may run
  /// between fork and exec.
  /// @param own_memory  a second folder of its own, or null
  /// @return 0 or an errno
  [[nodiscard]] int apply(const char* own_memory) const;

 private:
  struct Rule {
    std::string path;
    std::uint64_t access;
  };
  void add(const std::filesystem::path& path, std::uint64_t access);
  void add_system(const std::filesystem::path& secret);
  void add_machine();
  void add_devices();

  std::string folder_;
  std::vector<Rule> rules_;
};

}  // namespace convlab::grader
