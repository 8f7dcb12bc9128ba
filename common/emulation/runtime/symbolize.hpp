#pragma once

#include <string>

namespace convlab::emulation {

/// The innermost place of a call chain that lies in the user's own source: "kernel.cu:17 (in
/// conv_kernel)". Asks addr2line; empty where that is missing or the build has no line numbers.
/// @param frames  the faulting instruction, then return addresses
std::string source_place(void* const* frames, int count);

}  // namespace convlab::emulation
