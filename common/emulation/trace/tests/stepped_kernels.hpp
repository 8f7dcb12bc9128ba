#pragma once

namespace convlab::emulation {

// One launch each; `to` and `from` have 256 elements.
void copy_by_tile(float* to, const float* from);    // two blocks of 64 threads; a barrier
void read_beyond(float* to, const float* from);     // 32 threads; the last one reads element 256
void exchange_lanes(float* to, const float* from);  // 32 threads; a read, a shuffle, a store

}  // namespace convlab::emulation
