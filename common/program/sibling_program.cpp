#include "common/program/sibling_program.hpp"

#include <unistd.h>

#include <filesystem>

#include "common/base/error.hpp"

namespace convlab {

namespace {

const std::filesystem::path kSelf = "/proc/self/exe";

std::filesystem::path sibling(const std::string& name) {
  return std::filesystem::read_symlink(kSelf).parent_path() / name;
}

}  // namespace

std::string program_name(const std::string& milestone, const std::string& solution, Device device) {
  return milestone + (solution == "reference" ? "-reference" : "") +
         (device == Device::kEmulated ? "-emulated" : "");
}

bool has_program(const std::string& name) {
  const std::filesystem::path program = sibling(name);
  return std::filesystem::exists(program) && !std::filesystem::equivalent(program, kSelf);
}

void become_program(const std::string& name, char** argv) {
  const std::filesystem::path program = sibling(name);
  execv(program.c_str(), argv);
  const std::string command = "cmake --build --preset lab --target " + name;
  throw EnvironmentError("There is no program " + program.string() + "; " +
                         (name.find("-reference") == std::string::npos
                              ? "to build it: " + command + "."
                              : "a hand-out has no reference solutions, a full checkout builds "
                                "them (" +
                                    command + ")."));
}

std::vector<char*> arguments_without(char** argv, const std::string& option) {
  std::vector<char*> arguments;
  for (; *argv != nullptr; ++argv) {
    if (*argv == option && argv[1] != nullptr) {
      ++argv;  // and its value
    } else if (!std::string(*argv).starts_with(option + "=")) {
      arguments.push_back(*argv);
    }
  }
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace convlab
