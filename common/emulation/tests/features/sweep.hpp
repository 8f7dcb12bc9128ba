#pragma once

// Features that are one operation over many operands.

#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {

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

}  // namespace convlab::features
