#pragma once

namespace convlab::emulation {

/// Whether a kernel on a GPU could use the address: null, device, pinned or managed memory, or a
/// symbol, but no other memory of the host.
bool kernel_may_use(const void* address);

}  // namespace convlab::emulation
