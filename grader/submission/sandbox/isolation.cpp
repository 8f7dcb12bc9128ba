#include "grader/submission/sandbox/isolation.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

struct Part {
  const char* name;
  const char* setting;  ///< leaves it out
  int Isolation::*error;
};

constexpr std::array<Part, 2> kParts = {{
    {"namespaces", "namespaces", &Isolation::namespaces},
    {"system calls", "calls", &Isolation::system_calls},
}};

}  // namespace

std::string describe(const Isolation& isolation) {
  std::string granted;
  std::string left_out;
  for (const Part& part : kParts) {
    (isolation.*part.error == 0 ? granted : left_out) += std::string(part.name) + ", ";
  }
  if (!left_out.empty()) left_out = "; left out: " + left_out.substr(0, left_out.size() - 2);
  return "isolation: " + granted + "no capabilities, limits" + left_out;
}

std::string refused_part(const Isolation& isolation) {
  for (const Part& part : kParts) {
    const int error = isolation.*part.error;
    if (error == 0 || error == ECANCELED) continue;
    return "This machine does not isolate programs (" + std::string(part.name) + ": " +
           std::strerror(error) +
           "), so nothing was started: allow it (docs/setup.md#isolation), or set "
           "CONVLAB_ISOLATION_WITHOUT=" +
           part.setting + " for files that you trust.";
  }
  return {};
}

Isolation probe_isolation() {
  ChildProcess process("/bin/true", {}, {});
  process.wait(std::chrono::seconds(10));
  return process.isolation();
}

}  // namespace convlab::grader
