// libFuzzer target: reading arbitrary bytes as an IDX file, plain or gzip, must give an array that
// formats back to the same bytes, or an EnvironmentError.
//
//     cmake -G Ninja -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DCONVLAB_FUZZERS=ON
//         -DCONVLAB_SANITIZE=address,undefined -DCONVLAB_TESTS=OFF -DCONVLAB_BENCHMARKS=OFF
//     cmake --build build/fuzz --target fuzz_idx
//     build/fuzz/bin/fuzz_idx -max_total_time=60

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "common/base/error.hpp"
#include "common/data/gzip.hpp"
#include "common/data/idx.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Small, so that a gzip bomb is refused quickly.
  constexpr std::size_t kMaxSize = std::size_t{1} << 20;
  try {
    const std::vector<std::uint8_t> bytes =
        convlab::gunzip(std::vector<std::uint8_t>(data, data + size), kMaxSize, "input");
    if (bytes.size() > kMaxSize && bytes.size() != size) std::abort();
    const convlab::IdxArray array = convlab::parse_idx(bytes, "input");
    if (convlab::format_idx(array) != bytes) std::abort();
  } catch (const convlab::EnvironmentError&) {
    // The one permitted way to refuse.
  }
  return 0;
}
