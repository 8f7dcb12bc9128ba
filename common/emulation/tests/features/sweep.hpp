#pragma once

// Features that are one kernel, or one operation over many operands.

#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {

/// What a launch writes to an array of `count` elements, its first argument.
template <typename Out, typename... Parameters, typename... Arguments>
Bits results_of(void (*kernel)(Out*, Parameters...), dim3 grid, dim3 block, std::size_t count,
                Arguments... arguments) {
  DeviceArray<Out> out(count);
  kernel<<<grid, block>>>(out.data(), arguments...);
  return out.bits();
}

/// The same for a kernel that reads `values` first.
template <typename In, typename Out, typename... Parameters, typename... Arguments>
Bits results_from(const std::vector<In>& values, void (*kernel)(const In*, Out*, Parameters...),
                  dim3 grid, dim3 block, std::size_t count, Arguments... arguments) {
  DeviceArray<In> in(values);
  DeviceArray<Out> out(count);
  kernel<<<grid, block>>>(in.data(), out.data(), arguments...);
  return out.bits();
}

/// mix() for kernels.
__device__ inline unsigned scramble(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

template <class Operation>
__global__ void evaluate(unsigned* results, unsigned count, Operation operation) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) results[i] = operation(i);
}

/// operation(0), operation(1), … operation(count - 1), 32 bits each.
template <class Operation>
Bits sweep(unsigned count, Operation operation) {
  DeviceArray<unsigned> results(count);
  evaluate<<<(count + 255) / 256, 256>>>(results.data(), count, operation);
  return results.bits();
}

// A feature whose result i is that of the block, a function of its own: nvcc takes a __device__
// lambda in a function only.
#define CONVLAB_SWEEP(group, title, function, count, ...)       \
  Bits function() {                                             \
    return sweep(count, [] __device__(unsigned i) __VA_ARGS__); \
  }                                                             \
  const Register function##_feature{group, title, &function};

}  // namespace convlab::features
