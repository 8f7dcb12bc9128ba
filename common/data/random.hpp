#pragma once

#include <cstdint>

namespace convlab {

/// A small random generator that gives the same numbers on every machine and with every library.
/// std::uniform_int_distribution and std::normal_distribution do not promise that.
///
/// Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014
/// (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// 64 random bits.
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  /// 0 … bound − 1, from the upper 32 bits by multiplication (bias below bound / 2³²).
  int below(int bound) {
    return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }

  /// [0, 1), a multiple of 2⁻²⁴: exact in a float.
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24F; }

 private:
  std::uint64_t state_;
};

}  // namespace convlab
