#pragma once

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

}  // namespace convlab::emulation
