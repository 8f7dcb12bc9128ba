// The same phases of the form with a stride.
#define WITH_STRIDE , const int S
#define OUTPUT_SIDE(side) ((side - K) / S + 1)
#include "parts/phases.cuh"
