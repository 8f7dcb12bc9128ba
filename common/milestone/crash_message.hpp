#pragma once

namespace convlab {

/// From now on a crash (segmentation fault, division by zero, abort) first prints one sentence that
/// says where the program was and what such a crash usually means; then the system's default
/// action follows, so that a debugger or a core file still sees it.
void explain_crashes();

/// What the program is doing, for that sentence; `place` must live until the next call.
void set_crash_place(const char* place);

}  // namespace convlab
