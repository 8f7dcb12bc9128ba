#pragma once

#include <cstddef>
#include <initializer_list>

namespace convlab {

/// The name of an enum's value, counted from 0; "unknown" for any other number.
/// @param names  in the order of the values
template <class Enum>
const char* enum_name(Enum value, std::initializer_list<const char*> names) {
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names.begin()[index] : "unknown";
}

}  // namespace convlab
