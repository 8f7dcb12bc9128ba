#pragma once

#include <csignal>
#include <initializer_list>

namespace convlab::grader {

/// 1 once somebody wants a long work to end, after stop_on_signals().
inline volatile std::sig_atomic_t stop_asked = 0;

/// From now on Ctrl-C, SIGTERM and SIGHUP do not end the program but set stop_asked, for work that
/// keeps what it has done.
inline void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) { stop_asked = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

}  // namespace convlab::grader
