// Placeholder for a given file; CMakeLists.txt explains it.
#include "cpu-new-forward.h"
