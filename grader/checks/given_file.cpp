#include "grader/checks/given_file.hpp"

#include <vector>

#include "common/error/error.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

Finding explain(const BuildProblem& problem, const std::string& file) {
  switch (problem.kind) {
    case BuildProblem::Kind::kDoesNotCompile:
      return finding("E-build", problem.message);
    case BuildProblem::Kind::kTakesTooLong:
      return finding("E-build",
                     file + ": the compiler did not come to an end; " + problem.message + ".");
    case BuildProblem::Kind::kNoConvolution:
      return finding("E-timed-phase-empty",
                     file +
                         " defines a part of the course's interface, but not its function that "
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

}  // namespace

GivenFile build_given_file(const std::filesystem::path& file, const std::filesystem::path& student,
                           const std::filesystem::path& build,
                           const std::vector<std::string>& libraries) {
  std::vector<StageInfo> stages;
  Submission milestone(student);
  if (milestone.list_stages(stages)) {
    throw EnvironmentError(student.string() +
                           " does not answer; build it: cmake --build --preset lab");
  }
  refuse_silent_emulation(milestone.device());
  const Device device = milestone.device().device;
  const bool is_cuda = file.extension() == ".cu";
  if (std::filesystem::is_regular_file(file) && is_cuda == (device == Device::kCpu)) {
    throw UsageError("The solution of " + student.filename().string() + " is a " +
                     (is_cuda ? ".cpp" : ".cu") + " file; this is " + file.string() + ".");
  }
  const BuiltSubmission built =
      build_submission(file, {.build = build,
                              .device = device,
                              .capability = milestone.device().measured.info.capability,
                              .libraries = libraries});
  if (!built.problem) {
    return {.program = built.program, .form = built.form, .warnings = built.warnings};
  }
  return {.finding = explain(*built.problem, file.filename().string())};
}

}  // namespace convlab::grader
