#pragma once

namespace convlab {

/// From now on a crash (segmentation fault, division by zero, abort) first prints one sentence that
/// says where the program was and what such a crash usually means; then the system's default
/// action follows, so that a debugger or a core file still sees it.
void explain_crashes();

/// From now on, after so many seconds of real time, the program prints that it did not end and
/// exits with code 1; 0 takes the limit away. Needs explain_crashes(). It ends kernels on a GPU as
/// well.
void limit_time(int seconds);

/// What the program is doing, for that sentence; `place` must live until the next call.
void set_crash_place(const char* place);

}  // namespace convlab
