#pragma once

#include <array>
#include <optional>
#include <string>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/runtime/emulation_report.hpp"

namespace convlab::emulation {

/// Why a kernel failed. Signal handlers fill it in, so they leave `message` empty; report.hpp finds
/// the words afterwards.
struct Fault {
  enum class State {
    kNone,
    kFailed,
    kCancelled,  ///< another block of the grid failed
  };

  State state = State::kNone;
  EmulationFault kind = EmulationFault::kOutsideAccess;
  KernelFault error = KernelFault::kLaunchFailure;
  std::string message;                 ///< what happened; empty: the report describes `kind`
  std::optional<ReportMemory> memory;  ///< that `message` is about
  CallSite site;
  bool has_thread = false;
  uint3 thread = {};
  const void* address = nullptr;      ///< of a stray access
  bool writes = false;                ///< the stray access is a write
  std::array<void*, 32> frames = {};  ///< return addresses, innermost first
  int frame_count = 0;
};

/// A failed kernel as the API and the user see it.
struct KernelFailure {
  KernelFault error = KernelFault::kLaunchFailure;
  EmulationReport report;
};

}  // namespace convlab::emulation
