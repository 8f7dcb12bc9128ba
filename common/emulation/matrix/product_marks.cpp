#include "common/emulation/include/convlab_emulation/narrow_format.hpp"

volatile unsigned char convlab::emulation::product_marks[3] = {};
