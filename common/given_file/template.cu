// Stands where a given file will stand; CMakeLists.txt tells how.
#include "gpu-new-forward.h"
