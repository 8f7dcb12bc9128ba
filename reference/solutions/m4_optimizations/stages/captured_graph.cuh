#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "common/device/cuda_check.cuh"
#include "reference/solutions/m4_optimizations/cuda_stream.cuh"

namespace convlab {

/// Work that a stream recorded once, and that one call launches.
class CapturedGraph {
 public:
  CapturedGraph() = default;

  /// Launches and copies on a captured stream do not run: they become nodes of a graph. The default
  /// stream cannot be captured.
  /// @param submit  called with the stream
  template <class Submit>
  explicit CapturedGraph(const Submit& submit) {
    const CudaStream stream;
    CONVLAB_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    submit(stream.get());
    cudaGraph_t graph = nullptr;
    CONVLAB_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
    CONVLAB_CUDA_CHECK(cudaGraphInstantiate(&executable_, graph, 0));
    CONVLAB_CUDA_CHECK(cudaGraphDestroy(graph));
    // Otherwise the first launch uploads the graph, which took 8 to 10 µs on an H200.
    CONVLAB_CUDA_CHECK(cudaGraphUpload(executable_, stream.get()));
    stream.synchronize();
  }
  CapturedGraph(CapturedGraph&& other) noexcept
      : executable_(std::exchange(other.executable_, nullptr)) {}
  CapturedGraph& operator=(CapturedGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }

  /// On the default stream.
  void launch() const { CONVLAB_CUDA_CHECK(cudaGraphLaunch(executable_, nullptr)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace convlab
