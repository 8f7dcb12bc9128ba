#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/libraries/timed_layer.hpp"

namespace convlab {

/// A convolution to be timed.
struct Contender {
  std::string name;
  /// Does everything but the convolution (allocates, converts, creates primitives) and returns the
  /// convolution. The layer must outlive the returned function.
  std::function<std::function<void()>(TimedLayer&)> prepare;
};

/// Every stage that this executable links, by its id, and oneDNN:
/// "onednn-nchw" and "onednn-blocked".
std::vector<Contender> cpu_contenders();

}  // namespace convlab
