#pragma once

// Places of a program: instructions that access memory, and calls that name their site. A number
// stands for each.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/runtime/emulation_report.hpp"

namespace convlab::emulation {

/// 0 is no place.
using Place = std::uint32_t;

/// @param caller  the return address of the call that the compiler put before an access
Place place_of_access(const void* caller);
Place place_of_call(const CallSite& site);

/// How many there are.
Place count_of_places();

/// The line of the source. The first question about an access takes milliseconds.
const ReportPlace& source_of(Place place);

/// What names an access from one run of the program to the next: its address from the program's
/// start. 0 for a call.
std::uintptr_t address_in_program(Place place);
/// The same of a return address; for any thread.
std::uintptr_t address_in_program(const void* caller);

}  // namespace convlab::emulation
