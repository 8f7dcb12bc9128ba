#pragma once

#include <sys/types.h>

#include <cstdint>

namespace convlab::grader {

/// Memory of a process and its descendants in bytes, of every kind that the system charges to a
/// process: private, shared without a name, swapped out, page tables, and memory files that are
/// open but not mapped. Pages of files on the disk do not count.
std::int64_t box_memory(pid_t process);

}  // namespace convlab::grader
