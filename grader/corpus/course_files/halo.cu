// A tile with its halo in shared memory, sized for filters of up to 7.
//
// Runs      emulated gpu

// Case      halo_beyond
// What      The halo of the last tile is read without a look at the borders; nothing uses it.
// Warns     E-outside
#define INSIDE true

// Case      shared_tile
// What      A tile with its halo in shared memory, sized for filters of up to 7.
// Says      computes like single precision
#define INSIDE (top + y < H && left + x < W)

// Case      image_tiles_in_the_ranked_run
// What      A tile of the image is not unrolled, which the ranked run asks for.
// Options   --rules sp26-final --competition
// Diagnosis E-course-rule
// Says      unrolling: in a convolution of
#define INSIDE (top + y < H && left + x < W)

// End of cases
#include "parts/headers.cuh"
#include "parts/halo_kernel.cuh"
#include "parts/launch_tiles.cuh"
