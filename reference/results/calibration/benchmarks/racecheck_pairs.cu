// Runs one kernel of the seeded pairs of races on a GPU, for compute-sanitizer (on_gpu.sh):
//
//     racecheck_pairs            lists the pairs
//     racecheck_pairs NAME 0|1   runs the wrong kernel or its right twin

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/emulation/trace/tests/race_pairs.hpp"

int main(int count, char** words) {
  using namespace convlab::emulation;
  for (const auto& pairs :
       {race_pairs_in_blocks(), race_pairs_in_warps(), race_pairs_of_blocks()}) {
    for (const Pair& pair : pairs) {
      if (count < 3) {
        std::printf("%s\n", pair.name);
        continue;
      }
      if (words[1] != std::string(pair.name)) continue;
      constexpr std::size_t kBytes = 32 << 10;
      void* memory = nullptr;
      if (cudaMalloc(&memory, kBytes) != cudaSuccess) return 3;
      if (cudaMemset(memory, 0, kBytes) != cudaSuccess) return 3;
      (words[2] == std::string("1") ? pair.right : pair.wrong)(memory);
      return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
    }
  }
  return count < 3 ? 0 : 2;
}
