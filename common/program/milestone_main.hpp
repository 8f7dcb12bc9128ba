#pragma once

#include <memory>
#include <string>

#include "common/device/device_session.hpp"

namespace convlab {

/// How the executables of the milestones differ.
struct Milestone {
  std::string id{};              ///< "m1"
  std::string solution{};        ///< "student" or "reference": whose stages this executable links
  Device device = Device::kCpu;  ///< what it was built for
  /// Opens that device; null for the CPU. @throws DeviceError if none answers
  std::unique_ptr<DeviceSession> (*open_device)() = nullptr;
};

/// The main program that all milestones share. Reads the command line, loads data and network, runs
/// the registered stages, and prints in the format of the course.
/// @return an ExitCode
int milestone_main(const Milestone& milestone, int argc, char** argv);

}  // namespace convlab
