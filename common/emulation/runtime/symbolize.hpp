#pragma once

#include "common/emulation/runtime/emulation_report.hpp"

namespace convlab::emulation {

/// The innermost place of a call chain that lies in the user's own source. Asks addr2line;
/// empty where that is missing or the build has no line numbers.
/// @param frames  the faulting instruction, then return addresses
ReportPlace source_place(void* const* frames, int count);

}  // namespace convlab::emulation
