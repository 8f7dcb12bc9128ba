#pragma once

#include <cstddef>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

struct CUstream_st;  // what a cudaStream_t points to

namespace convlab::emulation {

/// The configuration between <<< and >>>, and its place.
struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes = 0;
  CUstream_st* stream = nullptr;
  CallSite site;
  bool cooperative = false;  ///< all blocks run side by side and may wait for each other
};

/// One launch of a kernel. Its copies of the arguments become the runtime's (submit_kernel).
struct KernelCall : Configuration {
  const char* name = "";           ///< as written before <<<
  const void* function = nullptr;  ///< address of the kernel where it is known
  std::size_t shared_limit = 0;    ///< for static and dynamic shared memory together
  void (*run_thread)(const void* arguments) = nullptr;  ///< runs the kernel for one thread
  void* arguments = nullptr;
  void (*destroy)(void* arguments) = nullptr;
  std::size_t argument_bytes = 0;
  std::size_t parameter_bytes = 0;  ///< of the parameters alone
};

}  // namespace convlab::emulation
