#pragma once

#include "grader/checks/network_check.hpp"

namespace convlab::grader {

/// Looks whether the GPU is quiet before a check loads it; if so, nothing waits for that later.
void look_at_gpu();

/// Waits, two minutes at most, until the GPU is idle and no longer slowed down by heat, as
/// `nvidia-smi` reports it, and announces what it waits for. Only the first call of a process
/// waits, and on a machine without `nvidia-smi` none.
void wait_for_quiet_gpu(const Announce& announce);

}  // namespace convlab::grader
