#pragma once

#include <cstddef>

namespace convlab::emulation {

/// The unit in which the operating system gives and protects memory.
constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace convlab::emulation
