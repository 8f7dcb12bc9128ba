#pragma once

#include "common/serve/fault_words.hpp"

namespace convlab {

/// Words for an exception of CONVLAB_CUDA_CHECK; leaves those of any other exception as they are.
void explain_checked_call(const FaultRecord& fault, const SourceText& sources, FaultWords& words);

/// Says which of the usual mistakes made a copy or a free fail, where the fault's text tells.
void explain_copy(const FaultRecord& fault, const SourceText& sources, FaultWords& words);

}  // namespace convlab
