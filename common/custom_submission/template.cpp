// Placeholder for a custom submission; CMakeLists.txt explains it.
#include "cpu-new-forward.h"
