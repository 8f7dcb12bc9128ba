#pragma once

#include <filesystem>
#include <string>

namespace convlab::grader {

/// What a program printed, both streams in one, and its exit code.
struct ProgramRun {
  int exit_code = -1;
  std::string output;
};

/// Runs `build/…/bin/NAME ARGUMENTS` with a shell; output is no terminal.
ProgramRun run_program(const std::string& name, const std::string& arguments,
                       const std::string& environment = "");

/// A folder of this test's own, emptied at the end.
class TestFolder {
 public:
  TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// True if the default network's weights are in the tree; tests of the network need them.
bool has_default_weights();

}  // namespace convlab::grader
