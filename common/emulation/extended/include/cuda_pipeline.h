#pragma once

// What of it is still in use.

#include <cuda_pipeline_primitives.h>
