// Placeholder for a custom submission; CMakeLists.txt explains it.
#include "gpu-new-forward.h"
