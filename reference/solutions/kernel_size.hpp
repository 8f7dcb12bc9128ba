#pragma once

#include <type_traits>

namespace convlab {

/// Calls `choose` with the kernel size as a constant, which can be a template argument: 3, 5 or 7,
/// or 0 for any other. The networks of the course have kernels 5 and 7.
///
///     kernel = for_kernel_size(shape.kernel, [](auto size) { return conv_forward<size()>; });
template <class Choose>
auto for_kernel_size(int kernel, Choose choose) {
  switch (kernel) {
    case 3:
      return choose(std::integral_constant<int, 3>{});
    case 5:
      return choose(std::integral_constant<int, 5>{});
    case 7:
      return choose(std::integral_constant<int, 7>{});
    default:
      return choose(std::integral_constant<int, 0>{});
  }
}

}  // namespace convlab
