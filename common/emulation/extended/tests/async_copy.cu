// Asynchronous copies: primitives, zero fill, cooperative memcpy_async.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

namespace cg = cooperative_groups;

template <class Word>
__global__ void copy_words(const Word* from, Word* to) {
  __shared__ Word buffer[64];
  const unsigned thread = threadIdx.x;
  __pipeline_memcpy_async(&buffer[thread], &from[thread], sizeof(Word));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  to[thread] = buffer[63 - thread];
}

__global__ void copy_with_zeros(const uint4* from, uint4* to) {
  __shared__ uint4 buffer[32];
  const unsigned thread = threadIdx.x;
  buffer[thread] = make_uint4(~0U, ~0U, ~0U, ~0U);
  __syncthreads();
  __pipeline_memcpy_async(&buffer[thread], &from[thread], 16, thread % 5 * 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  to[thread] = buffer[thread];
}

__global__ void copy_together(const int* from, int* to, int count) {
  __shared__ __align__(16) int buffer[300];
  const cg::thread_block block = cg::this_thread_block();
  const int first = count / 8 * 4;
  cg::memcpy_async(block, buffer, from, sizeof(int) * static_cast<unsigned>(first));
  cg::memcpy_async(block, buffer + first, 300 - first, from + first, count - first);
  cg::wait(block);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    to[i] = buffer[count - 1 - i];
  }
}

template <class T>
std::vector<T> bytes_as(std::size_t count) {
  std::vector<T> values(count);
  auto* bytes = reinterpret_cast<unsigned char*>(values.data());
  for (std::size_t i = 0; i < count * sizeof(T); ++i) {
    bytes[i] = static_cast<unsigned char>(mix(static_cast<unsigned>(i)));
  }
  return values;
}

constexpr const char* kGroup = "asynchronous copies";

template <class Word>
Bits words() {
  return results_from(bytes_as<Word>(64), copy_words<Word>, 1, 64, 64);
}
const Register kFour{kGroup, "4 bytes", &words<int>};
const Register kEight{kGroup, "8 bytes", &words<int2>};
const Register kSixteen{kGroup, "16 bytes", &words<int4>};

const Register kZeros{kGroup, "filled up with zeros",
                      [] { return results_from(bytes_as<uint4>(32), copy_with_zeros, 1, 32, 32); }};

const Register kTogether{kGroup, "cooperative memcpy_async", [] {
                           return results_from(bytes_as<int>(300), copy_together, 1, 96, 300, 299);
                         }};

}  // namespace
}  // namespace convlab::features
