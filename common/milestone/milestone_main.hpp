#pragma once

#include <string>

namespace convlab {

/// What tells the executables of the milestones apart; convlab_add_milestone fills it in.
struct Milestone {
  std::string id;        ///< "m1"
  std::string solution;  ///< "student" or "reference": whose stages this executable links
  bool on_gpu = false;   ///< three phases count: layer time is shown beside op time
};

/// The main program that all milestones share: reads the command line, loads data and network, runs
/// the registered stages, prints what the course's programs print.
/// @return an ExitCode
int milestone_main(const Milestone& milestone, int argc, char** argv);

}  // namespace convlab
