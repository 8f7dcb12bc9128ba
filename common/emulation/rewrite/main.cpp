// convlab-rewrite: the build step between a .cu file and the host compiler.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "common/command_line/run_program.hpp"
#include "common/emulation/rewrite/project.hpp"
#include "common/error/error.hpp"

namespace {

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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Rewrites a CUDA source for device emulation, line by line", "convlab-rewrite");
  convlab::rewrite::ProjectOptions options;
  std::filesystem::path dependencies;
  app.add_option("SOURCE", options.source, "the .cu file")->required()->check(CLI::ExistingFile);
  app.add_option("-o,--output", options.output, "where the C++ goes")->required();
  app.add_option("-I,--include", options.include_folders, "folder of quoted includes");
  app.add_option("--exclude", options.excluded_folder, "leave headers below this folder alone");
  app.add_option("--depfile", dependencies, "write what was read, in make's syntax");
  app.footer(
      "Example (the build does this for every .cu file):\n"
      "  build/bin/convlab-rewrite kernel.cu --output kernel.cpp --include . \\\n"
      "      --exclude common/emulation/include");
  return convlab::run_program(app, argc, argv, [&] {
    const auto result = convlab::rewrite::rewrite_project(options);
    for (const std::string& error : result.errors) std::cerr << error << "\n";
    if (!dependencies.empty())
      write_dependencies(dependencies, options.output.string(), result.inputs);
    return result.errors.empty() ? convlab::ExitCode::kPassed : convlab::ExitCode::kFallsShort;
  });
}
