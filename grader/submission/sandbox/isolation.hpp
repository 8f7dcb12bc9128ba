#pragma once

#include <string>
#include <vector>

namespace convlab::grader {

/// The mechanisms that isolate a submission: each an errno, 0 if the kernel granted it. A plain
/// struct, because it travels through a pipe.
struct Isolation {
  int namespaces = 0;    ///< users, network, System V memory and mounts of its own
  int own_proc = 0;      ///< process numbers of its own, and a /proc that shows no others
  int own_disk = 0;      ///< its folder, /tmp and /dev/shm are small disks of its own
  int own_root = 0;      ///< only the files that it needs exist
  int files = 0;         ///< Landlock: it may open only the files that it needs
  int system_calls = 0;  ///< seccomp: only the calls that a convolution needs
  int capabilities = 0;  ///< none, not even for root
};

/// "isolation: namespaces, files, system calls, limits" and what is missing, and why.
std::string describe(const Isolation& isolation);

/// The missing mechanisms with the kernel's reason, "namespaces (Operation not permitted)".
std::vector<std::string> missing_parts(const Isolation& isolation);

/// The promises of docs/grading.md that this machine does not keep, each a sentence that names the
/// missing part. Empty: an instructor may rely on all of them. A part that was disabled with
/// CONVLAB_ISOLATION_WITHOUT is not listed, because somebody decided that.
std::vector<std::string> broken_promises(const Isolation& isolation);

/// Asks the kernel, by starting a process that does nothing.
Isolation probe_isolation();

}  // namespace convlab::grader
