#pragma once

#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Whether NVIDIA's driver reports a GPU, outside any isolation and without code of a submission.
/// CUDA_VISIBLE_DEVICES hides GPUs from this as from every program.
bool gpu_answers();

/// Makes sure that a verdict from emulation does not look like one from a GPU.
/// @throws EnvironmentError if the program emulates because no GPU answered inside its isolation,
/// while one answers outside
void refuse_silent_emulation(const DeviceState& device);

}  // namespace convlab::grader
