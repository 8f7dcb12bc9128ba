#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

/// Products that each thread makes which comes to one place.
struct Product {
  Place place = 0;
  int numbers = 0;  ///< of this kind
  const char* kind = nullptr;
  int doubles = 0;  ///< beside them
};

/// Products of one kind of number and another. The emulated device makes one of halves by up to
/// four of doubles: a sum that takes in a product makes it anew, by three. Those beyond are a
/// kernel's own.
struct Products {
  std::int64_t others = 0;
  std::int64_t halves = 0;
  std::int64_t doubles = 0;

  void add(const Product& product, std::int64_t times) {
    (std::string_view(product.kind).starts_with("half") ? halves : others) +=
        product.numbers * times;
    doubles += product.doubles * times;
  }
  [[nodiscard]] std::int64_t own_doubles() const {
    return std::max(std::int64_t{0}, doubles - 4 * halves);
  }
  [[nodiscard]] std::int64_t sum() const { return others + halves + own_doubles(); }
};

/// Products of one block: how often warps came to the place, and threads.
struct ProductCount {
  std::int64_t warps = 0;
  std::int64_t threads = 0;
};

}  // namespace convlab::emulation
