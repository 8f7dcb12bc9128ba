#pragma once

#include <optional>
#include <string>

namespace convlab {

/// The name of the first GPU that NVIDIA's driver lists, "NVIDIA H200"; empty if none answers. Asks
/// the driver in a separate process, without any code of a submission and without the CUDA Toolkit.
/// CUDA_VISIBLE_DEVICES hides GPUs from this as from every program.
std::optional<std::string> answering_gpu();

}  // namespace convlab
