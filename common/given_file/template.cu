// Placeholder for a given file; CMakeLists.txt explains it.
#include "gpu-new-forward.h"
