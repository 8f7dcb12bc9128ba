#pragma once

#include <cstddef>

namespace convlab::emulation {

/// The host and the device know of each other's numbers only what the runtime copies. On a GPU,
/// memory keeps them apart; here, a file whose every access is observed. This ends a kernel that
/// writes to memory of the host, and a program whose host reads or writes memory of the device, or
/// the stack of a kernel's thread.
/// @param caller  the return address of the access
void refuse_crossing(const void* address, bool writes, const void* caller);

/// Memory that was allocated, perhaps by a kernel, whose heap is the device's; and its end.
void note_heap(void* begin, std::size_t bytes);
void forget_heap(const void* begin);

}  // namespace convlab::emulation
