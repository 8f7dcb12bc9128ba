#pragma once

#include <csignal>

namespace convlab::grader {

/// 1 once somebody wants a long work to end, after stop_on_signals().
extern volatile std::sig_atomic_t stop_asked;

/// From now on Ctrl-C, SIGTERM and SIGHUP do not end the program but set stop_asked, for work that
/// keeps what it has done.
void stop_on_signals();

}  // namespace convlab::grader
