#include "common/program/sibling_program.hpp"

#include <unistd.h>

#include <filesystem>

#include "common/error/error.hpp"

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
  std::error_code missing;
  return !std::filesystem::equivalent(sibling(name), kSelf, missing) && !missing;
}

void become_program(const std::string& name, char** argv) {
  const std::filesystem::path program = sibling(name);
  execv(program.c_str(), argv);
  throw EnvironmentError("There is no program " + program.string() +
                         "; a hand-out has no reference solutions, a full checkout builds them "
                         "(cmake --build --preset lab).");
}

}  // namespace convlab
