#pragma once

#include "common/serve/fault_words.hpp"

namespace convlab {

/// The words for a race: both lines, both threads, what lies between, the mend.
/// @param fault  of FaultKind::kRace
FaultWords race_words(const FaultRecord& fault, const SourceText& sources);

}  // namespace convlab
