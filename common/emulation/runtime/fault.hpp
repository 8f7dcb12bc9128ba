#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {

/// Why a kernel ended before its end, as found where it happened. Filled from signal handlers, so
/// it holds no memory of its own there; the words are made afterwards (report.hpp).
struct Fault {
  enum class Kind {
    kNone,
    kReported,    ///< fail_kernel: `message` says it all
    kMemory,      ///< SIGSEGV or SIGBUS at `address`
    kMisaligned,  ///< a vector access that is not aligned to its size
    kStackOverflow,
    kArithmetic,   ///< SIGFPE: an integer division by zero
    kInstruction,  ///< SIGILL, SIGTRAP
    kDeadlock,
    kDivergence,  ///< a barrier met from several call sites
    kTimeout,
    kCancelled,  ///< another block of the grid failed
  };

  Kind kind = Kind::kNone;
  KernelFault error = KernelFault::kLaunchFailure;
  std::string message;
  CallSite site;
  bool has_thread = false;
  uint3 thread = {};
  const void* address = nullptr;
  std::array<void*, 32> frames = {};  ///< return addresses, innermost first
  int frame_count = 0;
};

/// A failed kernel as the API and the user see it.
struct KernelFailure {
  KernelFault error = KernelFault::kLaunchFailure;
  std::string report;  ///< several lines, no newline at the end
};

}  // namespace convlab::emulation
