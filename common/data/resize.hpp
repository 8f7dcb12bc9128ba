#pragma once

#include <vector>

#include "common/data/dataset.hpp"

namespace convlab {

/// The first `count` images, resized to size × size, as floats.
///
/// Filter: bilinear, half-pixel centres, edges clamped (size 28 copies); then v / 255.
/// Weights are integers over a power of two, so that the result is the same, bit for bit, with
/// every compiler and thread count.
///
/// @return count × size × size
std::vector<float> resize_images(const Dataset& dataset, int count, int size);

}  // namespace convlab
