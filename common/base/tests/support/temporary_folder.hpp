#pragma once

#include <unistd.h>

#include "common/base/scratch_folder.hpp"

namespace convlab::testing {

using TemporaryFolder = ScratchFolder;

}  // namespace convlab::testing
