#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/data/dataset.hpp"
#include "common/device/gpu_driver.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/measure/quiet_gpu.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/sandbox/sandbox.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::machine_commands {

namespace {

namespace fs = std::filesystem;

/// The doctor's result for one item. Without a mend it is well.
struct Examined {
  std::string name{};
  std::string seen{};
  std::string mend{};
  bool needed = true;  ///< without it the workbook does not work at all
};

Examined program(const std::string& name, const std::string& program, const std::string& mend,
                 bool needed) {
  const std::string text = run_process({.words = {program, "--version"}}).output;
  if (text.empty()) return {name, "not found", mend, needed};
  // Of nvcc the line that names the release.
  const std::size_t at = program == "nvcc" ? text.find("release") : 0;
  return {name, text.substr(at, text.find('\n', at) - at), {}, needed};
}

Examined compiler() {
  const MachineInfo machine = describe_machine();
  // Checks build with the compiler that CMake found, not with the one that is first in PATH now.
  if (const std::string path = missing_tool(build_folder(), "cpu"); !path.empty()) {
    return {"compiler", path + " is gone",
            "common/setup/lab setup installs one; then: cmake --preset lab --fresh"};
  }
  const std::string seen = machine.compiler + " (this build, " + machine.build_type + ")";
  if (machine.build_type == "Release") return {"compiler", seen};
  return {"compiler", seen, "Times count in the optimised build: cmake --preset lab", false};
}

Examined gpu() {
  const std::optional<std::string> name = answering_gpu();
  if (!name) {
    return {"GPU", "none answers", "Not needed for m1; GPU milestones are emulated without one",
            false};
  }
  Submission submission(program_of("m2", "student"));
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages) || submission.device().no_gpu.empty()) {
    return {"GPU", *name};  // m2 is not built, so nothing more is known
  }
  return {"GPU", *name,
          "It does not answer m2 in its isolation (" + submission.device().no_gpu +
              "); leave a part out: CONVLAB_ISOLATION_WITHOUT=calls or namespaces",
          false};
}

Examined data() {
  try {
    return {"data", std::to_string(load_dataset(Split::kTest).count) + " test images"};
  } catch (const Error& error) {
    return {"data", "not usable", error.what()};
  }
}

Examined space() {
  constexpr double kGigabyte = 1e9;
  constexpr double kWanted = 5.0;  // two arrays of 1 GB on both sides, and the rest
  const fs::path build = build_folder();
  if (::access(build.c_str(), W_OK) != 0) {
    return {"space", build.string() + " is read-only", "Copy the tree to where you may write"};
  }
  const double memory = static_cast<double>(available_memory()) / kGigabyte;
  const double disk = static_cast<double>(fs::space(build).available) / kGigabyte;
  const std::string seen =
      three_digits(memory) + " GB of memory and " + three_digits(disk) + " GB of disk are free";
  if (disk < 1.0) return {"space", seen, "Free 1 GB of disk"};
  if (memory >= kWanted) return {"space", seen};
  return {"space", seen, "Batch 10 000 needs 5 GB of memory; check with --batches 100,1000", false};
}

Examined isolation() {
  try {
    constexpr std::size_t kSome = 4096;
    const SharedSegment segment(kSome, SharedSegment::Access::kReadOnly);
    return {"isolation", describe(probe_isolation()).substr(std::strlen("isolation: "))};
  } catch (const Error& error) {
    return {"isolation", error.what(), "The grader needs Linux 5.12 or newer, and user namespaces"};
  }
}

ExitCode run_doctor(const NoOptions&) {
  const std::string setup = "common/setup/lab setup";
  bool well = true;
  const auto tell = [&](const Examined& item) {
    const bool good = item.mend.empty();
    well = well && (good || !item.needed);
    const std::string mark = good          ? coloured("ok  ", Colour::kGood)
                             : item.needed ? coloured("FAIL", Colour::kBad)
                                           : coloured("note", Colour::kStrong);
    std::cout << hanging(mark + "  " + left(item.name, 11), 17, item.seen)
              << (good ? "" : paragraph("                 → ", item.mend)) << std::flush;
  };
  tell(compiler());
  tell(program("CMake", "cmake", setup, true));
  tell(program("Ninja", "ninja", setup, true));
  tell(program("gnuplot", "gnuplot", "For plots: " + setup, false));
  tell(data());
  tell(space());
  tell(isolation());
  tell(program("CUDA", "nvcc", "Not needed for m1. For GPU milestones: docs/setup.md", false));
  tell(gpu());
  std::cout << (well ? "Nothing that is needed is missing.\n" : "Fix what is marked FAIL.\n");
  return well ? ExitCode::kPassed : ExitCode::kEnvironment;
}

// Before the words of the program, when the job runs.
constexpr const char* kInJob = "--when-the-gpu-is-quiet";

ExitCode run_job(const NoOptions&) {
  std::vector<std::string> words = own_words();
  const std::string self = words.front();
  words.erase(words.begin(), std::find(words.begin(), words.end(), "job") + 1);
  const bool is_job = !words.empty() && words.front() == kInJob;
  if (is_job) words.erase(words.begin());
  if (words.empty()) throw UsageError("Name the program: grader job build/bin/m4 1000 --all");
  if (!is_job) {
    words.insert(words.begin(), {self, "job", kInJob});
    return run_as_slurm_job(words);
  }
  wait_for_quiet_gpu([](const std::string& text) { std::cout << text << std::endl; });
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  throw EnvironmentError(words.front() + " cannot be started: " + std::strerror(errno) + ".");
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [job, options] = add_command(app, exit_code, "job", run_job);
  job.prefix_command();  // what follows is the program's, options too
  add_command(app, exit_code, "doctor", run_doctor);
}

}  // namespace convlab::grader::machine_commands
