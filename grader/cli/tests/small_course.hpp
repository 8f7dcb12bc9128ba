#pragma once

#include <filesystem>
#include <string>

#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

/// A course and its build folder of their own, so that a test may edit, build and submit: the
/// milestones are copies, the program of m1 is one of tests/submissions, CMake is a script.
class SmallCourse {
 public:
  explicit SmallCourse(const std::string& submission) {
    namespace fs = std::filesystem;
    const fs::path source = CONVLAB_SOURCE_DIR;
    const fs::path bin = CONVLAB_BINARY_DIR;
    fs::create_directories(course() / "milestones");
    fs::create_directories(build() / "bin");
    fs::create_directories(tools());
    fs::create_directory_symlink(source / "common", course() / "common");
    fs::create_directory_symlink(source / "reference", course() / "reference");
    fs::create_directory_symlink(source / "grader", course() / "grader");  // templates of pictures
    fs::copy(bin.parent_path() / "pristine", build() / "pristine", fs::copy_options::recursive);
    fs::copy_file(bin / "grader", build() / "bin" / "grader");
    fs::copy_file(bin / "grader-views", build() / "bin" / "grader-views");
    use(submission);
    set_cmake("exit 0");
    // Not the other milestones: their programs need not be built for these tests.
    add_milestone("m1_cpu_baseline");
    for (const auto& file : fs::directory_iterator(source / "milestones")) {
      if (file.is_regular_file()) fs::copy(file, course() / "milestones");
    }
  }

  [[nodiscard]] std::filesystem::path course() const { return folder_.path() / "course"; }
  [[nodiscard]] std::filesystem::path build() const { return folder_.path() / "build"; }
  [[nodiscard]] std::filesystem::path tools() const { return folder_.path() / "tools"; }
  [[nodiscard]] std::filesystem::path source() const {
    return course() / "milestones" / "m1_cpu_baseline" / "conv_forward.cpp";
  }

  /// The folder of another milestone, as it is handed out.
  void add_milestone(const std::string& name) const {
    std::filesystem::copy(std::filesystem::path(CONVLAB_SOURCE_DIR) / "milestones" / name,
                          course() / "milestones" / name, std::filesystem::copy_options::recursive);
  }

  /// From now on m1 is this program.
  void use(const std::string& submission) const {
    std::filesystem::copy_file(std::filesystem::path(SUBMISSIONS) / submission,
                               build() / "bin" / "m1",
                               std::filesystem::copy_options::overwrite_existing);
  }

  /// What `cmake` does: a shell script.
  void set_cmake(const std::string& script) const {
    write_atomically(tools() / "cmake", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(tools() / "cmake", std::filesystem::perms::owner_all);
  }

  /// A shell command line in the build folder's bin; both streams in `out`.
  testing::CommandResult shell(const std::string& command) const {
    return testing::run_command("exec 2>&1; export CONVLAB_HOME='" + course().string() +
                                "' PATH='" + tools().string() + "':\"$PATH\"; cd '" +
                                (build() / "bin").string() + "' || exit 9; " + command);
  }

  /// The last check of m1 has had this batch: a real one of ten thousand images takes minutes.
  void say_batch(int before, int batch) const {
    shell("sed -i 's/\"batch\": " + std::to_string(before) +
          ",/\"batch\": " + std::to_string(batch) + ",/' ../results/m1-student.json");
  }

  testing::CommandResult grader(const std::string& arguments) const {
    return shell("./grader " + arguments);
  }

 private:
  testing::TemporaryFolder folder_;
};

}  // namespace convlab::grader
