#pragma once

#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Whether NVIDIA's driver tells of a GPU, asked outside of any isolation and without any code of a
/// submission. CUDA_VISIBLE_DEVICES hides GPUs from this as from every program.
bool gpu_answers();

/// A verdict from emulation must not look like one from a GPU.
/// @throws EnvironmentError if the program emulates because no GPU answered it in its isolation,
/// while one answers outside
void refuse_silent_emulation(const DeviceState& device);

}  // namespace convlab::grader
