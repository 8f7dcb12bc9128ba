// convlab-rewrite: the build step between a .cu file and the host compiler.
//
// It reads its few options itself: CLI11 would take longer to compile than all of the rewrite, and
// every emulated file waits for this program. --include: a folder of quoted includes; --exclude:
// headers below it are left alone; --depfile: what was read, in make's syntax; --traced: accesses
// will be observed.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/address_sanitizer.hpp"
#include "common/base/error.hpp"
#include "common/emulation/rewrite/rewriter.hpp"

namespace {

constexpr const char* kUsage =
    "convlab-rewrite SOURCE --output FILE [--include FOLDER]... [--exclude FOLDER] [--depfile "
    "FILE] [--traced]";

/// @throws convlab::UsageError for a wrong command line
convlab::rewrite::ProjectOptions parse(int argc, char** argv, std::filesystem::path& dependencies) {
  convlab::rewrite::ProjectOptions project;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    project.traced = project.traced || word == "--traced";
    if (word == "--traced") continue;
    if (!word.starts_with("-")) {
      project.source = word;
      continue;
    }
    if (++i == argc) throw convlab::UsageError(kUsage);
    if (word == "--output")
      project.output = argv[i];
    else if (word == "--include")
      project.include_folders.emplace_back(argv[i]);
    else if (word == "--exclude")
      project.excluded_folder = argv[i];
    else if (word == "--depfile")
      dependencies = argv[i];
    else
      throw convlab::UsageError(kUsage);
  }
  if (project.source.empty() || project.output.empty()) throw convlab::UsageError(kUsage);
  return project;
}

void write_dependencies(const std::filesystem::path& file, const std::string& target,
                        const std::vector<std::filesystem::path>& inputs) {
  std::ofstream out(file);
  out << target << ":";
  for (const auto& input : inputs) {
    out << " \\\n  ";
    for (const char c : input.string()) {
      if (c == ' ' || c == '#') out << '\\';
      out << c;
    }
  }
  out << "\n";
}

convlab::ExitCode run(int argc, char** argv) {
  std::filesystem::path dependencies;
  const auto project = parse(argc, argv, dependencies);
  const auto result = convlab::rewrite::rewrite_project(project);
  for (const auto* const all : {&result.warnings, &result.errors})
    for (const std::string& each : *all) std::fprintf(stderr, "%s\n", each.c_str());
  if (!dependencies.empty())
    write_dependencies(dependencies, project.output.string(), result.inputs);
  return result.errors.empty() ? convlab::ExitCode::kPassed : convlab::ExitCode::kFallsShort;
}

}  // namespace

CONVLAB_NO_SEARCH_FOR_LEAKS_IF(true)

int main(int argc, char** argv) {
  convlab::ExitCode code = convlab::ExitCode::kEnvironment;
  try {
    code = run(argc, argv);
  } catch (const convlab::Error& error) {
    std::fprintf(stderr, "convlab-rewrite: %s\n", error.what());
    code = error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "convlab-rewrite: %s\n", error.what());
  }
  return static_cast<int>(code);
}
