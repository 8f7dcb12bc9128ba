#pragma once

#include <cstddef>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"

namespace convlab::emulation {

/// Where a program asks before each access: forbids the beginning of what pointers of the host
/// point to that lie in these bytes, which a kernel gets. A struct that is copied brings the host's
/// pointers along, and on a GPU a kernel that follows one fails.
void forbid_what_host_pointers_reach(const void* begin, std::size_t bytes);

/// Whether this forbidden byte is memory of the host that the kernel may use all the same: its own
/// arguments, or what was pinned or used for something else since.
[[nodiscard]] bool is_allowed_host_memory(const KernelCall& call, const void* byte);

/// What a report says of an address that is not the device's.
[[nodiscard]] const char* why_forbidden(const void* byte);

}  // namespace convlab::emulation
