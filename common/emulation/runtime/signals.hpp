#pragma once

#include <pthread.h>

#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

/// Turns SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP inside kernels into faults of the emulated
/// device. Outside of kernels the former handlers run, after a report if the host used a device
/// pointer. Call it before every grid and for every allocation: others (a test framework, say) may
/// have replaced the handlers.
void install_signal_handlers();

/// Reports what the host has done at this place, then ends the program as if an access to memory
/// had failed that nobody else explains.
void fail_on_host(EmulationReport report, const void* caller);

/// Gives the calling thread a second stack, on which handlers run after a stack overflow, unless it
/// has one.
void prepare_thread_for_signals();

/// Stops a worker whose kernel has exceeded the time limit. It does nothing while the worker is
/// between two blocks, or in a function of a library, which may hold locks.
/// @param even_in_library  stops it there, too, at the risk that a lock stays held
void interrupt_kernel(pthread_t worker, bool even_in_library);

}  // namespace convlab::emulation
