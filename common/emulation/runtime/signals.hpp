#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

/// Turns SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP inside kernels into faults of the emulated
/// device. Outside of kernels the former handlers run, after a report if the host used a device
/// pointer. Call it before every grid and for every allocation: others (a test framework, say) may
/// have replaced the handlers.
void install_signal_handlers();

/// The call chain from the instruction, the return address, or the caller (null), outwards.
void record_frames(Fault& fault, void* pc);

/// Ends the kernel that is about to access an address outside of all arrays.
/// @param caller  where: a return address
/// @return false if the host does it, or the kernel may use what is forbidden there
bool fail_access(const void* address, bool writes, const void* caller);

/// Ends the kernel that is about to access bytes at an address that is no multiple of their number.
/// @param caller  where: a return address
void fail_misaligned(std::uintptr_t address, std::size_t bytes, const void* caller);

/// Reports what the host has done at this place, then ends the program as if an access to memory
/// had failed that nobody else explains.
void fail_on_host(EmulationReport report, const void* caller);

/// Gives the calling thread a second stack, on which handlers run after a stack overflow, unless it
/// has one.
void prepare_thread_for_signals();

/// Signals outside of kernels end the program from now on: for a copy of the process, in which its
/// handlers have nothing to tell.
void forget_former_handlers();

/// Stops a worker whose kernel has exceeded the time limit. It does nothing while the worker is
/// between two blocks, or in a function of a library, which may hold locks.
/// @param even_in_library  stops it there, too, at the risk that a lock stays held
void interrupt_kernel(pid_t worker, bool even_in_library);

}  // namespace convlab::emulation
