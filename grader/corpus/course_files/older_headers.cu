// Written for a header from before phases took arrays of the host as const.
//
// Says      computes like single precision
// Runs      emulated gpu

// Case      older_header
// What      Written for an older header, whose output array of the host is not const.
#define ARRAY const float*

// Case      oldest_header
// What      Written for a header in which no array is const.
#define ARRAY float*

// End of cases
#define HOST_OUTPUT float*
#include "parts/launch_plain.cuh"
