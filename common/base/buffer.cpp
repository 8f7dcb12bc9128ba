#include "common/base/buffer.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "common/base/error.hpp"

namespace convlab {

namespace {

constexpr std::size_t kVectorBytes = 64;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// Smaller allocations do not check the system's memory.
constexpr std::int64_t kLargeBytes = std::int64_t{64} << 20;

std::string gigabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

}  // namespace

Buffer::Buffer(std::int64_t size, float fill) : size_(size) {
  const std::int64_t bytes = size * static_cast<std::int64_t>(sizeof(float));
  const bool is_large = bytes > kLargeBytes;
  const std::size_t alignment = is_large ? kHugePageBytes : kVectorBytes;
  const std::size_t rounded = (static_cast<std::size_t>(bytes) / alignment + 1) * alignment;
  // Linux grants more memory than it has and kills the program later, so check first.
  const bool is_free = !is_large || bytes <= available_memory();
  if (is_free) data_.reset(static_cast<float*>(std::aligned_alloc(alignment, rounded)));
  if (!data_) {
    throw EnvironmentError(
        "This run needs " + gigabytes(bytes) + " more memory for one array, and " +
        (is_free ? "a limit of this process refuses it; raise the limit"
                 : "only " + gigabytes(available_memory()) + " are free; close other programs") +
        " or take a smaller batch.");
  }
  if (is_large) madvise(data_.get(), rounded, MADV_HUGEPAGE);
  float* const values = data_.get();
  // Small arrays are often scratch of a timed call, which should not wait for other threads.
#pragma omp parallel for schedule(static) if (is_large)
  for (std::int64_t i = 0; i < size; ++i) values[i] = fill;
}

void Buffer::Free::operator()(float* data) const {
  std::free(data);
}

std::int64_t available_memory() {
  std::ifstream stream("/proc/meminfo");
  std::string key;
  std::string rest;
  std::int64_t kibibytes = 0;
  while (stream >> key >> kibibytes && std::getline(stream, rest)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace convlab
