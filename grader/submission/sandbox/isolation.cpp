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
  int Isolation::*error;
};

constexpr std::array<Part, 7> kParts = {{
    {"namespaces", &Isolation::namespaces},
    {"own /proc", &Isolation::own_proc},
    {"own disk", &Isolation::own_disk},
    {"own root", &Isolation::own_root},
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

std::vector<std::string> broken_promises(const Isolation& isolation) {
  std::vector<std::string> broken;
  const auto reason = [](const char* part, int error) {
    return std::string(part) + ": " + std::strerror(error);
  };
  // Each list is a promise; one of its parts is enough.
  struct Promise {
    const char* sentence;
    std::vector<Part> parts;
  };
  const std::vector<Promise> promises = {
      {"A submission could read solutions, labels and other people's files",
       {kParts[3], kParts[4]}},
      {"A submission could start programs, signal other processes or keep computing in them",
       {kParts[5]}},
      {"A submission of root could act as root", {kParts[6]}},
  };
  for (const Promise& promise : promises) {
    std::string why;
    bool kept = false;
    for (const Part& part : promise.parts) {
      const int error = isolation.*part.error;
      kept = kept || error == 0 || error == ECANCELED;
      why += (why.empty() ? "" : ", ") + reason(part.name, error);
    }
    if (!kept) broken.push_back(std::string(promise.sentence) + " (" + why + ").");
  }
  return broken;
}

Isolation probe_isolation() {
  ChildProcess process("/bin/true", {}, {});
  process.wait(std::chrono::seconds(10));
  return process.isolation();
}

}  // namespace convlab::grader
