#pragma once

// nvcuda::experimental::pipeline, the class over cuda_pipeline_primitives.h.

#include <cuda_pipeline_primitives.h>

#include <cstddef>

#include "common/emulation/include/convlab_emulation/async_copy.hpp"
#include "common/emulation/include/convlab_emulation/call_site.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace nvcuda::experimental {

/// The calling thread's asynchronous copies.
class pipeline {
 public:
  pipeline() = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  std::size_t commit() {
    convlab::emulation::async_copies().commit();
    return committed_++;
  }
  void wait() { convlab::emulation::async_copies().wait_prior(0); }
  template <unsigned kPrior>
  void wait_prior() {
    convlab::emulation::async_copies().wait_prior(kPrior);
  }

 private:
  std::size_t committed_ = 0;
};

template <class T>
inline void memcpy_async(T& dst_shared, const T& src_global, pipeline& /*pipe*/,
                         CONVLAB_CALL_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                "an asynchronous copy is one of 4, 8 or 16 bytes");
  __pipeline_memcpy_async(&dst_shared, &src_global, sizeof(T), 0, site);
}

}  // namespace nvcuda::experimental

// NOLINTEND(readability-identifier-naming)
