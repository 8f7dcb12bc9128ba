#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "common/base/in_threads.hpp"

namespace convlab::oracle {

/// Runs body(state, image) for every image, spread over threads; each thread makes its own state.
/// An exception in any thread reaches the caller after all threads have ended.
template <class MakeState, class Body>
void parallel_images(int batch, const MakeState& make_state, const Body& body) {
  std::atomic<int> next = 0;
  const auto threads = static_cast<std::size_t>(std::min(batch, omp_get_max_threads()));
  in_threads(threads, threads, [&](std::size_t /*thread*/) {
    auto state = make_state();
    for (int image = next++; image < batch; image = next++) body(state, image);
  });
}

}  // namespace convlab::oracle
