#include "grader/checks/custom_submission.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <set>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_driver.hpp"
#include "grader/checks/build_mend.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

Finding explain(const BuildProblem& problem, const SubmittedSources& submitted) {
  const std::string file = printable_line(problem.file);
  switch (problem.kind) {
    case BuildProblem::Kind::kDoesNotCompile:
      return compiler_finding(problem.error, SourceText(submitted.sources));
    case BuildProblem::Kind::kTakesTooLong:
      return finding("E-build", file + ": the compiler did not finish: " + problem.message + ".");
    case BuildProblem::Kind::kRefused:
      return compiler_finding({.text = printable_line(problem.message) + "."}, {});
    case BuildProblem::Kind::kNoConvolution:
      if (!problem.message.empty()) {
        const std::string name = problem.message.substr(0, problem.message.find('('));
        Finding found = finding("E-no-stage/other-function", "", {file, problem.message});
        found.seen += SourceText(submitted.sources).quotes({name, "("});
        return found;
      }
      return finding("E-timed-phase-empty",
                     file +
                         " defines a part of the course interface, but not its function that "
                         "computes: GPUInterface::conv_forward_gpu (or conv_forward_cpu).");
    case BuildProblem::Kind::kSymbol:
      break;
  }
  if (problem.symbol->kind == SymbolProblem::Kind::kLibrary) {
    return finding("E-library", file + " calls " + problem.symbol->name + ".");
  }
  const bool replaces = problem.symbol->kind == SymbolProblem::Kind::kReplaced;
  return finding("E-forbidden-call",
                 file + (replaces ? " defines " : " calls ") + problem.symbol->name + ".");
}

namespace {

// Where files of a milestone run here: on the CPU, on a GPU if one answers, else emulated. The
// workbook's own program finds out, which contains no code of a submission.
CustomSubmissionTarget target_for(bool is_cpu, const std::filesystem::path& build) {
  CustomSubmissionTarget target{.build = build,
                                .device = is_cpu ? Device::kCpu : Device::kEmulated};
  const std::filesystem::path on_gpu = build / "custom_submission" / "custom-submission-gpu";
  if (is_cpu || !std::filesystem::exists(on_gpu) || !answering_gpu()) return target;
  std::vector<StageInfo> stages;
  Submission program(on_gpu);
  if (program.list_stages(stages)) {
    throw EnvironmentError(on_gpu.string() +
                           " does not answer; build it: cmake --build --preset lab");
  }
  refuse_silent_emulation(program.device());
  target.device = program.device().device;
  target.capability = program.device().measured.info.capability;
  return target;
}

// Looks for a small change with which the only file is built, and says so: the compiler's word is
// not enough.
void prove_mend(const BuildProblem& problem, const SubmittedSources& submitted,
                CustomSubmissionTarget target, Finding& found) {
  if (problem.kind != BuildProblem::Kind::kDoesNotCompile || submitted.sources.size() != 1) return;
  constexpr std::chrono::seconds kPatience{12};
  SubmittedSources edited = submitted;
  edited.deadline = std::min(edited.deadline, std::chrono::steady_clock::now() + kPatience);
  target.edited = true;
  for (const BuildMend& mend : build_mends(problem.error, read_text(submitted.sources.front()))) {
    if (std::chrono::steady_clock::now() > edited.deadline) return;
    edited.edited = mend.text;
    if (build_submission(edited, target).problem) continue;
    if (mend.line != problem.error.line) {
      const std::string file = submitted.sources.front().filename();
      found.seen += SourceText(submitted.sources).quote(file, mend.line);
    }
    found.next = "It compiles " + mend.words + " (this was tried). " + found.next;
    return;
  }
}

// The stage of a file with the course interface, whose edits it tries.
std::string mendable_adapter(bool is_cpu) {
  const std::string folder = "#include \"common/custom_submission/";
  return (is_cpu ? "" : "#include <cuda_runtime.h>\n") + folder + "mendable.hpp\"\n" + folder +
         "course_interface/" + (is_cpu ? "cpu_interface_stage.cpp" : "gpu_interface_stage.cu") +
         "\"\n";
}

// All files below a folder with one of these endings.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::set<std::string>& endings) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_directory() || !endings.contains(entry.path().extension())) continue;
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

const std::set<std::string> kHeaders = {".cuh", ".hpp", ".h"};

}  // namespace

SubmittedSources with_headers(const std::filesystem::path& file, const std::filesystem::path& root,
                              const std::filesystem::path& folder) {
  return {.folder = root, .sources = {file}, .headers = files_in(folder, kHeaders)};
}

SubmittedSources reference_file(const std::filesystem::path& file) {
  return with_headers(file, workbook_folder(), workbook_folder() / "reference" / "solutions");
}

CustomSubmission build_custom_submissions(const SubmittedSources& submitted, bool is_cpu,
                                          const std::filesystem::path& build,
                                          const std::vector<std::string>& libraries) {
  CustomSubmissionTarget target = target_for(is_cpu, build);
  target.libraries = libraries;
  const BuiltSubmission built = build_submission(submitted, target);
  if (built.problem) {
    // The compiler for the emulated device has more words for what kernels may not contain.
    if (target.device == Device::kGpu &&
        built.problem->kind == BuildProblem::Kind::kDoesNotCompile) {
      const auto emulated =
          build_submission(submitted, {.build = build, .device = Device::kEmulated});
      if (emulated.problem && emulated.problem->kind == BuildProblem::Kind::kDoesNotCompile) {
        Finding found = explain(*emulated.problem, submitted);
        if (is_of_kind(found, "compiler")) return {.device = target.device, .unbuilt = found};
      }
    }
    Finding found = explain(*built.problem, submitted);
    prove_mend(*built.problem, submitted, target, found);
    return {.device = target.device, .unbuilt = found};
  }
  CustomSubmission given{.program = built.program,
                         .device = target.device,
                         .form = built.form,
                         .warnings = built.warnings};
  given.sources = submitted.sources;
  if (submitted.sources.size() == 1) {
    const bool is_course = built.form != FileInterface::kStages;
    given.build_edited = [submitted, target, is_cpu, is_course](const std::string& text) {
      SubmittedSources edited = submitted;
      edited.edited = text;
      if (is_course) edited.adapter = mendable_adapter(is_cpu);
      return build_submission(edited, {.build = target.build,
                                       .device = is_cpu ? Device::kCpu : Device::kEmulated,
                                       .edited = true});
    };
  }
  if (is_cpu) {
    given.build_traced = [submitted, target] {
      CustomSubmissionTarget traced = target;
      traced.traced = true;
      return build_submission(submitted, traced).program;
    };
    return given;
  }
  given.build_sized = [submitted, build] {
    return build_submission(submitted, {.build = build, .device = Device::kEmulated, .sized = true})
        .program;
  };
  // Each is built once, however many stages ask for it at the same time.
  struct Built {
    std::once_flag once{};
    EmulatedProgram program{};
  };
  given.build_emulated = [submitted, build,
                          built = std::make_shared<std::array<Built, 2>>()](bool traced) {
    Built& own = (*built)[traced ? 1 : 0];
    std::call_once(own.once, [&] {
      const BuiltSubmission emulated = build_submission(
          submitted, {.build = build, .device = Device::kEmulated, .traced = traced});
      const auto& problem = emulated.problem;
      if (problem && problem->symbol && problem->symbol->kind == SymbolProblem::Kind::kLibrary) {
        // A GPU's file may call it, or it would not have been built.
        own.program.refused =
            finding("E-unsupported",
                    printable_line(problem->file) + " calls a library, which is not emulated.");
      } else if (problem) {
        own.program.refused = explain(*problem, submitted);
      } else {
        own.program = {.program = emulated.program, .warnings = emulated.warnings};
      }
    });
    return own.program;
  };
  return given;
}

SubmittedSources sources_of(const std::filesystem::path& given, bool is_cpu) {
  namespace fs = std::filesystem;
  const char* extension = is_cpu ? ".cpp" : ".cu";
  if (fs::is_directory(given)) {
    const std::set<std::string> endings = {extension, is_cpu ? ".cc" : extension};
    SubmittedSources submitted{
        .folder = given, .sources = files_in(given, endings), .headers = files_in(given, kHeaders)};
    if (submitted.sources.empty()) {
      throw UsageError("There is no " + std::string(extension) + " file in " + given.string() +
                       ".");
    }
    return submitted;
  }
  if (!fs::exists(fs::symlink_status(given))) {
    throw UsageError("The solution is student, reference, or source files; there is no " +
                     printable_line(given.string()) + ".");
  }
  require_source(given);
  const bool is_cuda = given.extension() == ".cu";
  if (is_cuda == is_cpu) {
    throw UsageError("The solution of this milestone is a " + std::string(extension) +
                     " file; this is " + given.string() + ".");
  }
  return only(given);
}

}  // namespace convlab::grader
