// libFuzzer target: reading arbitrary bytes as a weight file must give finite weights of the stated
// sizes, or an EnvironmentError.
//
//     cmake -G Ninja -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DCONVLAB_FUZZERS=ON
//         -DCONVLAB_SANITIZE=address,undefined -DCONVLAB_TESTS=OFF -DCONVLAB_BENCHMARKS=OFF
//     cmake --build build/fuzz --target fuzz_weights
//     build/fuzz/bin/fuzz_weights -max_total_time=60

#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "common/base/error.hpp"
#include "common/network/weights.hpp"

namespace {

void parse(const std::vector<std::uint8_t>& bytes) {
  try {
    const convlab::Weights weights = convlab::parse_weights(bytes, "input");
    for (const convlab::Parameter& parameter : weights.parameters) {
      std::size_t size = 1;
      for (int dim : parameter.dims) size *= static_cast<std::size_t>(dim);
      if (parameter.values.size() != size) std::abort();
      for (float value : parameter.values) {
        if (!std::isfinite(value)) std::abort();
      }
    }
  } catch (const convlab::EnvironmentError&) {
    // The one permitted way to refuse.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  parse(bytes);
  // With its checksum made right, so that the fuzzer gets past it.
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, data, size));
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::uint8_t>(crc >> shift));
  }
  parse(bytes);
  return 0;
}
