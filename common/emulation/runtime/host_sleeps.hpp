#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace convlab::emulation {

/// A thread that runs kernels is none of the host's.
void note_worker();

/// While it lives, only this thread of the host runs: nobody sees what another reads in open device
/// memory. It waits until all others sleep, and reports one that wakes up nevertheless. Does
/// nothing unless accesses are observed and numbers withheld.
class HostSleeps {
 public:
  HostSleeps();
  HostSleeps(const HostSleeps&) = delete;
  HostSleeps& operator=(const HostSleeps&) = delete;
  ~HostSleeps();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  std::optional<std::map<std::string, std::int64_t>> wakings_;  ///< of all others, if there are any
};

}  // namespace convlab::emulation
