#pragma once

#include <cerrno>
#include <string>

namespace convlab::grader {

/// The mechanisms that isolate a submission: each an errno, 0 if the kernel granted it, ECANCELED
/// if CONVLAB_ISOLATION_WITHOUT has left it out. A plain struct, because it travels through a pipe.
struct Isolation {
  int namespaces = 0;  ///< users, processes, network and mounts of its own, with a root of its own
  int system_calls = 0;  ///< seccomp, and no capabilities

  [[nodiscard]] bool is_refused() const {
    const auto refuses = [](int error) { return error != 0 && error != ECANCELED; };
    return refuses(namespaces) || refuses(system_calls);
  }
};

/// "isolation: namespaces, system calls, no capabilities, limits" and what was left out.
std::string describe(const Isolation& isolation);

/// What the kernel refuses, why, and what helps; empty if nothing. Then no submission is started.
std::string refused_part(const Isolation& isolation);

/// Asks the kernel, by starting a process that does nothing.
/// @throws EnvironmentError with refused_part()
Isolation probe_isolation();

}  // namespace convlab::grader
