#include "common/base/keyed_call.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>

namespace convlab {

// Set before the constructors of static objects.
static constinit std::array<std::uint32_t, 3> call_key{};

const std::array<std::uint32_t, 3>& draw_call_key() {
  if (::getrandom(call_key.data(), sizeof call_key, 0) != sizeof call_key) std::abort();
  return call_key;
}

long keyed_call(long number, std::intptr_t first, const void* second, std::intptr_t third) {
  return ::syscall(number, first, second, third, call_key[0], call_key[1], call_key[2]);
}

}  // namespace convlab
