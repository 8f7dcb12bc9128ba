#pragma once

#include <cuda_runtime.h>

#include <vector>

namespace convlab::emulation {

/// A kernel of one warp and one access, and what must be counted of it.
struct CountedKernel {
  const char* name;
  void (*run)(void* memory);
  const char* space;
  bool writes;
  long long requests;
  long long lanes;
  long long parts;
  long long conflicts;
  const char* kind = "";  ///< of products
  long long multiply_adds = 0;
  long long warp_operations = 0;
};

std::vector<CountedKernel> counted_kernels();

/// A kernel may read the marks of products (narrow_format.hpp), and write none.
void run_write_mark();

/// Three kernels of one template, of which the first two do the same.
void run_twins(float* memory, cudaStream_t stream = nullptr);
/// Multiplies 80 and 3 as halves, and adds 2.
void run_half_product(float* memory);

}  // namespace convlab::emulation
