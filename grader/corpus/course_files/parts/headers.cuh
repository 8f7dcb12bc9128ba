#include <cmath>
#include <iostream>

#include "gpu-new-forward.h"
