#pragma once

#include <cstddef>
#include <type_traits>

namespace convlab::emulation {

/// A thread reads or writes an element of an array that is its own.
/// @param known  whether the compiler of a GPU knows the index: then registers hold the array
void note_own_element(const volatile void* element, std::size_t bytes, bool known,
                      bool writes) noexcept;

/// Stands in place of an index of a file that is traced (rewrite/own_arrays.cpp).
template <class Array, class Index>
[[gnu::always_inline]] constexpr Index note_index(const Array& array, Index index, bool known,
                                                  bool writes) {
  if constexpr (std::is_array<Array>::value) {
    using Element = std::remove_extent_t<Array>;
    if constexpr (!std::is_array<Element>::value) {
      if (!__builtin_is_constant_evaluated())
        note_own_element(&array[index], sizeof(Element), known, writes);
    }
  }
  return index;
}

}  // namespace convlab::emulation
