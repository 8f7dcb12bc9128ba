// fmin and fmax of -0 and +0: IEEE 754 leaves the choice open, a GPU takes the signs' order. The
// linker takes these in place of the C library's, for host and kernels.

#include "common/emulation/include/convlab_emulation/device_math.hpp"

extern "C" {

float fminf(float a, float b) {
  return min(a, b);
}
float fmaxf(float a, float b) {
  return max(a, b);
}
double fmin(double a, double b) {
  return min(a, b);
}
double fmax(double a, double b) {
  return max(a, b);
}
}
