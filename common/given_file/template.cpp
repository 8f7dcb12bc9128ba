// Stands where a given file will stand; CMakeLists.txt tells how.
#include "cpu-new-forward.h"
