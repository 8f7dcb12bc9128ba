#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/data/dataset.hpp"
#include "common/device/gpu_probe.hpp"
#include "common/result/result.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/sandbox/sandbox.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader::machine_commands {

namespace {

/// The doctor's result for one item. Without a mend it is well.
struct Examined {
  std::string name;
  std::string seen;
  std::string mend{};
  bool needed = true;  ///< without it the workbook does not work at all
};

Examined program(const std::string& name, const std::string& program, const std::string& mend,
                 bool needed) {
  const std::string text = run_process({.words = {program, "--version"}}).output;
  if (text.empty()) return {name, "not found", mend, needed};
  return {name, text.substr(0, text.find('\n')), {}, needed};
}

Examined compiler() {
  const MachineInfo machine = describe_machine();
  // Checks build with the compiler that CMake found, not with the one that is first in PATH now.
  if (const std::string path = missing_tool(build_folder(), "cpu"); !path.empty()) {
    return {"compiler", path + " is gone",
            "common/setup/lab setup installs one; then: cmake --preset lab --fresh"};
  }
  const std::string seen = machine.compiler + " (this build, " + machine.build_type + ")";
  if (machine.build_type != "Release") {
    return {"compiler", seen, "Times count in the optimised build: cmake --preset lab", false};
  }
  return {"compiler", seen, {}};
}

Examined cuda() {
  // The line that names the release: "Cuda compilation tools, release 13.0, V13.0.88".
  const std::string text = run_process({.words = {"nvcc", "--version"}}).output;
  const std::size_t at = text.find("release");
  if (at != std::string::npos) return {"CUDA", text.substr(at, text.find('\n', at) - at), {}};
  return {"CUDA", "no nvcc", "Not needed for m1. For GPU milestones: docs/setup.md", false};
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
    return {"GPU", *name, {}};  // m2 is not built, so nothing more is known
  }
  return {"GPU", *name,
          "It does not answer m2 in its isolation (" + submission.device().no_gpu +
              "); leave a part out: CONVLAB_ISOLATION_WITHOUT=calls or namespaces",
          false};
}

Examined data() {
  try {
    const Dataset dataset = load_dataset(Split::kTest);
    return {"data", std::to_string(dataset.count) + " test images", {}};
  } catch (const Error& error) {
    return {"data", "not usable", error.what()};
  }
}

std::string gigabytes(double bytes) {
  return short_number(bytes / 1e9) + " GB";
}

Examined memory() {
  constexpr double kWanted = 5e9;  // two arrays of 1 GB on both sides, and the rest
  const auto free = static_cast<double>(available_memory());
  const std::string seen = gigabytes(free) + " free";
  if (free < kWanted) {
    return {"memory", seen,
            "Batch 10 000 needs about " + gigabytes(kWanted) +
                "; check with --batches 100,1000, or close other programs",
            false};
  }
  return {"memory", seen, {}};
}

Examined disk() {
  constexpr double kWanted = 1e9;
  if (::access(build_folder().c_str(), W_OK) != 0) {
    return {"disk", build_folder().string() + " is read-only",
            "Copy the tree to where you may write"};
  }
  const auto free = static_cast<double>(std::filesystem::space(build_folder()).available);
  return {"disk", gigabytes(free) + " free",
          free < kWanted ? "Free at least " + gigabytes(kWanted) : ""};
}

Examined isolation() {
  try {
    constexpr std::size_t kSome = 4096;
    const SharedSegment segment(kSome, SharedSegment::Access::kReadOnly);
    return {"isolation", describe(probe_isolation()).substr(std::strlen("isolation: ")), {}};
  } catch (const Error& error) {
    return {"isolation", error.what(), "The grader needs Linux 5.12 or newer, and user namespaces"};
  }
}

void print(const Examined& item) {
  const bool good = item.mend.empty();
  const std::string mark = good          ? coloured("ok  ", Colour::kGood)
                           : item.needed ? coloured("FAIL", Colour::kBad)
                                         : coloured("note", Colour::kStrong);
  std::cout << hanging(mark + "  " + left(item.name, 11), 17, item.seen);
  if (!good) std::cout << paragraph("                 → ", item.mend);
  std::cout << std::flush;
}

ExitCode run_doctor(const NoOptions&) {
  const std::string setup = "common/setup/lab setup";
  const std::array<std::function<Examined()>, 10> examinations = {
      compiler,
      [&] { return program("CMake", "cmake", setup, true); },
      [&] { return program("Ninja", "ninja", setup, true); },
      [&] { return program("gnuplot", "gnuplot", "For plots: " + setup, false); },
      data,
      memory,
      disk,
      isolation,
      cuda,
      gpu};
  bool well = true;
  for (const auto& examine : examinations) {
    const Examined item = examine();
    well = well && (item.mend.empty() || !item.needed);
    print(item);
  }
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

void add_doctor(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(
      app, exit_code, "doctor", "Examines the machine and says what is missing", run_doctor);
  command.footer("Example:\n  build/bin/grader doctor");
}

void add_job(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "job", "Runs the COMMAND behind it as a Slurm job", run_job);
  command.prefix_command();  // what follows is the program's, options too
  command.footer(
      "Shows its state in the queue, then what the program prints. Ctrl-C leaves the\n"
      "job; the same command finds it again. check, profile, sweep and the milestones'\n"
      "own programs (build/bin/m4) do the same with --launcher slurm.\n\n"
      "Examples:\n"
      "  build/bin/grader job build/bin/m4 10000 --all\n"
      "  SBATCH_PARTITION=gpu build/bin/grader job build/bin/m3 1000");
}

}  // namespace convlab::grader::machine_commands
