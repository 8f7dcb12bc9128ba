// The prolog pins the arrays of the host, which nobody unpins, and launches the kernel.
//
// Runs      emulated gpu
#include <cstdio>
#include <cstdlib>

#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"

static void pin(const void* array, size_t bytes) {
  if (cudaHostRegister(const_cast<void*>(array), bytes, cudaHostRegisterDefault) == cudaSuccess) return;
  std::printf("An array cannot be pinned.\n");
  std::exit(1);
}
#define AT_END_OF_PROLOG            \
  pin(host_input, INPUT_BYTES);     \
  pin(host_output, OUTPUT_BYTES);   \
  launch(*device_output_ptr, *device_input_ptr, *device_mask_ptr, B, M, C, H, W, K, 1)
#include "parts/phases.cuh"

// Case      prolog_computes
// What      conv_forward_gpu is empty.
// Diagnosis E-timed-phase-empty
CONV_FORWARD_GPU {
}

// Case      streams_task_in_prolog
// What      The same, handed in for a task whose work may all be done in the prolog.
// Options   --rules sp25-req-0
// Says      10/10 points for sp25-req-0
CONV_FORWARD_GPU {
}

// Case      final_task_in_prolog
// What      The same, handed in for the task of which all kernels must be in conv_forward_gpu.
// Options   --rules sp25-final
// Diagnosis E-timed-phase-empty
CONV_FORWARD_GPU {
}

// Case      no_convolution
// What      There is no conv_forward_gpu.
// Diagnosis E-timed-phase-empty
// Says      not its function that computes
