#include "grader/sandbox/isolation.hpp"

#include <array>
#include <chrono>
#include <cstring>

#include "grader/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

struct Part {
  const char* name;
  int Isolation::*error;
};

constexpr std::array<Part, 6> kParts = {{
    {"namespaces", &Isolation::namespaces},
    {"own /proc", &Isolation::own_proc},
    {"own disk", &Isolation::own_disk},
    {"files", &Isolation::files},
    {"system calls", &Isolation::system_calls},
    {"no capabilities", &Isolation::capabilities},
}};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::vector<std::string> missing_parts(const Isolation& isolation) {
  std::vector<std::string> missing;
  for (const Part& part : kParts) {
    if (const int error = isolation.*part.error; error != 0) {
      missing.push_back(std::string(part.name) + " (" + std::strerror(error) + ")");
    }
  }
  return missing;
}

std::string describe(const Isolation& isolation) {
  std::vector<std::string> granted;
  for (const Part& part : kParts) {
    if (isolation.*part.error == 0) granted.emplace_back(part.name);
  }
  granted.emplace_back("limits");
  const std::vector<std::string> missing = missing_parts(isolation);
  return "isolation: " + joined(granted) +
         (missing.empty() ? "" : "; not on this machine: " + joined(missing));
}

Isolation probe_isolation() {
  ChildProcess process("/bin/true", {}, {});
  process.wait(std::chrono::seconds(10));
  return process.isolation();
}

}  // namespace convlab::grader
