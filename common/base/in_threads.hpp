#pragma once

#include <cstddef>
#include <functional>

namespace convlab {

/// Calls work(0) to work(count - 1) in `threads` threads (at least one) and returns when all calls
/// have ended. If a call throws, no further one begins and the exception leaves this function.
void in_threads(std::size_t count, std::size_t threads,
                const std::function<void(std::size_t)>& work);

}  // namespace convlab
