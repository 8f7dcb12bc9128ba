#pragma once

#include <string>
#include <vector>

namespace convlab::grader {

/// The mechanisms that isolate a submission: each an errno, 0 if the kernel granted it. A plain
/// struct, because it travels through a pipe.
struct Isolation {
  int namespaces = 0;    ///< users, network, System V memory and mounts of its own
  int own_proc = 0;      ///< process numbers of its own, and a /proc that shows no others
  int own_disk = 0;      ///< its folder and /dev/shm are small disks of its own
  int files = 0;         ///< Landlock: reads the system, writes to its folder and to devices
  int system_calls = 0;  ///< seccomp: only the calls that a convolution needs
  int capabilities = 0;  ///< none, not even for root
};

/// "isolation: namespaces, files, system calls, limits" and what is missing, and why.
std::string describe(const Isolation& isolation);

/// The missing mechanisms with the kernel's reason, "namespaces (Operation not permitted)".
std::vector<std::string> missing_parts(const Isolation& isolation);

/// Finds out by starting a process that does nothing.
Isolation probe_isolation();

}  // namespace convlab::grader
