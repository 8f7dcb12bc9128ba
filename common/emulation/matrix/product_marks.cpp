#include "common/base/lost_number.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"

volatile unsigned char convlab::emulation::product_marks[3] = {};
std::uint64_t convlab::emulation::product_key = 0;

bool convlab::emulation::loses_product(float one, float other) noexcept {
  return is_lost(one, other, product_key);
}
