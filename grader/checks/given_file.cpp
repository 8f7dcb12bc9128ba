#include "grader/checks/given_file.hpp"

#include <algorithm>
#include <vector>

#include "common/device/gpu_probe.hpp"
#include "common/error/error.hpp"
#include "common/text/printable.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/findings/compiler_words.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

Finding explain(const BuildProblem& problem, const SubmittedSources& submitted) {
  const std::string file = printable_line(problem.file);
  switch (problem.kind) {
    case BuildProblem::Kind::kDoesNotCompile: {
      Finding found = compiler_finding(problem.message, SourceText(submitted.sources));
      // Emulated it compiles, and fails when it runs.
      if (problem.message.find("must be configured") != std::string::npos) {
        found = finding("E-device-pointer", problem.message);
        found.cause = "A kernel is called without <<<grid, block>>>, as a function of the host.";
        found.next = "Launch it: kernel<<<grid, block>>>(…).";
      }
      if (problem.message.find("cannot be emulated") != std::string::npos) {
        found = finding("E-unsupported", problem.message);
      }
      return found;
    }
    case BuildProblem::Kind::kTakesTooLong:
      return finding("E-build", file + ": the compiler did not finish: " + problem.message + ".");
    case BuildProblem::Kind::kRefused:
      return finding("E-build", printable_line(problem.message) + ".");
    case BuildProblem::Kind::kNoConvolution:
      return finding("E-timed-phase-empty",
                     file +
                         " defines a part of the course interface, but not its function that "
                         "computes: GPUInterface::conv_forward_gpu (or conv_forward_cpu).");
    case BuildProblem::Kind::kSymbol:
      break;
  }
  switch (problem.symbol->kind) {
    case SymbolProblem::Kind::kLibrary:
      return finding("E-library", file + " calls " + problem.symbol->name + ".");
    case SymbolProblem::Kind::kReplacement: {
      Finding found = finding("E-replaces", file + " defines " + problem.symbol->name + ".");
      if (problem.symbol->name == "main") {  // usually left over from trying it out
        found.cause = "The program that runs your convolution has a main of its own.";
        found.next = "Remove yours; the file holds the convolution only.";
      }
      return found;
    }
    case SymbolProblem::Kind::kForbidden:
      break;
  }
  return finding("E-forbidden-call", file + " calls " + problem.symbol->name + ".");
}

// Where files of a milestone run here: on the CPU, on a GPU if one answers, else emulated. The
// workbook's own program finds out, which contains no code of a submission.
GivenFileTarget target_for(bool is_cpu, const std::filesystem::path& build) {
  GivenFileTarget target{.build = build, .device = is_cpu ? Device::kCpu : Device::kEmulated};
  const std::filesystem::path on_gpu = build / "given_file" / "given-file-gpu";
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

}  // namespace

bool has_shared_memory(const SubmittedSources& submitted) {
  std::vector<std::filesystem::path> files = submitted.sources;
  files.insert(files.end(), submitted.headers.begin(), submitted.headers.end());
  const SourceText text(files);
  return text.has("__shared__") || text.has("matrix_fragments") || text.has("warpgroup_multiply");
}

GivenFile build_given_files(const SubmittedSources& submitted, bool is_cpu,
                            const std::filesystem::path& build,
                            const std::vector<std::string>& libraries) {
  GivenFileTarget target = target_for(is_cpu, build);
  target.libraries = libraries;
  const BuiltSubmission built = build_submission(submitted, target);
  if (built.problem) return {.finding = explain(*built.problem, submitted)};
  GivenFile given{.program = built.program, .form = built.form, .warnings = built.warnings};
  given.sources = submitted.sources;
  if (is_cpu) {
    given.build_plain = [submitted, target] {
      GivenFileTarget plain = target;
      plain.optimise = "-O0";
      return build_submission(submitted, plain).program;
    };
    return given;
  }
  given.build_emulated = [submitted, build](bool lockstep) {
    if (lockstep && !has_shared_memory(submitted)) return EmulatedProgram{};
    const BuiltSubmission emulated = build_submission(
        submitted, {.build = build, .device = Device::kEmulated, .lockstep = lockstep});
    if (emulated.problem) return EmulatedProgram{.refused = explain(*emulated.problem, submitted)};
    return EmulatedProgram{.program = emulated.program, .warnings = emulated.warnings};
  };
  return given;
}

SubmittedSources sources_of(const std::filesystem::path& given, bool is_cpu) {
  namespace fs = std::filesystem;
  const char* extension = is_cpu ? ".cpp" : ".cu";
  if (fs::is_directory(given)) {
    SubmittedSources submitted{.folder = given, .sources = {}, .headers = {}};
    for (const auto& entry : fs::recursive_directory_iterator(given)) {
      const std::string kind = entry.path().extension().string();
      if (kind == extension || (is_cpu && kind == ".cc")) submitted.sources.push_back(entry.path());
      if (kind == ".h" || kind == ".hpp" || kind == ".cuh") {
        submitted.headers.push_back(entry.path());
      }
    }
    std::sort(submitted.sources.begin(), submitted.sources.end());
    std::sort(submitted.headers.begin(), submitted.headers.end());
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
