#pragma once

// Records what the threads of one block do, step by step, for a picture of it.
//
// Idea     Each thread of the block leaves a list: place, array, offset. When the stage is over,
//          lane_pairing.hpp says what belongs together.
// Use      CONVLAB_EMU_TRACE=steps:2,0,1:conv_forward, in a file compiled for it: the block and the
//          kernel. Its first launch counts that has such a block.
// Limit    3000 steps, and as many numbers as a page can hold.

#include <string>

#include "common/base/device_notes.hpp"

namespace convlab::emulation {

/// Records from now on.
/// @param wanted  "2,0,1:conv_forward"
/// @return false if the text is not of this form
bool record_steps(const std::string& wanted);

/// What was recorded since the last call.
StepNotes take_steps();

}  // namespace convlab::emulation
