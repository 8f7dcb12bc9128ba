#pragma once

#include <cstddef>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {

/// One launch of a kernel. Its copies of the arguments become the runtime's (submit_kernel).
struct KernelCall {
  const char* name = "";           ///< as written before <<<
  CallSite site;                   ///< of the launch
  const void* function = nullptr;  ///< address of the kernel where it is known
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes = 0;
  bool cooperative = false;      ///< all blocks run side by side and may wait for each other
  std::size_t shared_limit = 0;  ///< for static and dynamic shared memory together
  void (*run_thread)(const void* arguments) = nullptr;  ///< runs the kernel for one thread
  void* arguments = nullptr;
  void (*destroy)(void* arguments) = nullptr;
  std::size_t argument_bytes = 0;
};

}  // namespace convlab::emulation
