#pragma once

#include <exception>
#include <mutex>

namespace convlab::oracle {

/// Runs body(state, image) for every image, spread over threads; each thread makes its own state.
/// An exception in any thread reaches the caller after all threads have ended.
template <class MakeState, class Body>
void parallel_images(int batch, const MakeState& make_state, const Body& body) {
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto keep = [&] {
    const std::lock_guard lock(failure_mutex);
    if (!failure) failure = std::current_exception();
  };
#pragma omp parallel if (batch > 1)
  {
    try {
      auto state = make_state();
#pragma omp for schedule(dynamic) nowait
      for (int image = 0; image < batch; ++image) {
        try {
          body(state, image);
        } catch (...) {
          keep();
        }
      }
    } catch (...) {
      keep();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace convlab::oracle
