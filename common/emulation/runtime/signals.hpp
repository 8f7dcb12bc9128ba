#pragma once

#include <thread>

namespace convlab::emulation {

/// Turns SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP inside kernels into faults of the emulated
/// device; outside of kernels they do what they did before, after a report if it was a device
/// pointer that the host used. To be called before every grid and for every allocation, because
/// others (a test framework, say) may have taken the signals since.
void install_signal_handlers();

/// Gives the calling worker a stack on which a handler can run when its own has overflown.
void prepare_worker_for_signals();

/// Stops a worker whose kernel has exceeded the time limit, unless it is between two blocks or in a
/// library, which may hold locks.
/// @param even_in_library  in the hope that it holds none
void interrupt_kernel(std::thread& worker, bool even_in_library);

}  // namespace convlab::emulation
