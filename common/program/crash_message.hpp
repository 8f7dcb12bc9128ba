#pragma once

namespace convlab {

/// Installs handlers: a crash (segmentation fault, division by zero, abort) first prints one
/// sentence that says where the program was and what such a crash usually means. Then the system's
/// default action follows, so that a debugger or a core file still shows the crash.
void explain_crashes();

/// Starts a time limit: after this many seconds of real time the program prints that it did not end
/// and exits with code 1. 0 removes the limit. Needs explain_crashes(). It also ends kernels on a
/// GPU.
void limit_time(int seconds);

/// Sets the place that this sentence names. `place` must live until the next call.
void set_crash_place(const char* place);

}  // namespace convlab
