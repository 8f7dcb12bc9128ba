#pragma once

#include <cstdint>
#include <utility>

namespace convlab::emulation {

/// splitmix64: the same numbers on every machine, a stream of its own for every (seed, number).
/// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15U ^ stream) {
    state_ = next();
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// A number from 0 to bound - 1. (Not exactly uniform; enough for an order.)
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  template <typename Iterator>
  void shuffle(Iterator begin, Iterator end) {
    for (auto left = end - begin; left > 1; --left)
      std::swap(begin[left - 1],
                begin[static_cast<decltype(left)>(below(static_cast<std::uint64_t>(left)))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace convlab::emulation
