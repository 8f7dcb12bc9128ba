// Threads without an output, and what keeps them from working.
//
// Runs      emulated gpu

// Case      sum_before_guard
// What      Threads without an output compute their sum, too, before they look at the border.
// Warns     E-outside
#define WITHOUT_OUTPUT {}
#define STORES (h < H_out && w < W_out)

// Case      writes_beyond
// What      The last tile writes over the end of the output.
// Diagnosis E-outside
#define WITHOUT_OUTPUT { output[((b * M + m) * H_out + h) * W_out + w] = 0; return; }

// End of cases
#include "parts/launch_plain.cuh"
