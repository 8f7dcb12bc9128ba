#include "grader/submission/shared_array.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

// This many bytes of poison lie before and after an array.
constexpr std::size_t kRedzone = 4096;

// The words of poison before and after an array, in whole segments.
std::array<std::span<std::uint32_t>, 2> surroundings(const SharedSegment& segment,
                                                     std::size_t offset, std::size_t bytes) {
  const auto words = [&](std::size_t begin, std::size_t end) {
    return std::span(reinterpret_cast<std::uint32_t*>(segment.data() + begin),
                     (end - begin) / sizeof(std::uint32_t));
  };
  const std::size_t end = offset + bytes;
  return {words(offset - std::min(kRedzone, offset), offset),
          words(end, std::min(end + kRedzone, segment.size()))};
}

}  // namespace

SharedSegment::SharedSegment(std::size_t size, Access access) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  size_ = (size + page - 1) / page * page;
  // A shared page that is missing later causes a fatal signal, not an error. So check first.
  const auto free = static_cast<std::size_t>(available_memory());
  if (size_ > free) {
    throw EnvironmentError("This needs " + std::to_string(size_ >> 20) + " MiB of memory and " +
                           std::to_string(free >> 20) +
                           " MiB are free: close other programs or use a smaller batch.");
  }
  descriptor_ = Descriptor(::memfd_create("convlab", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_made =
      descriptor_.is_open() && ::ftruncate(descriptor_.get(), static_cast<off_t>(size_)) == 0;
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapped != MAP_FAILED) {
    const auto unmap = [size = size_](std::byte* memory) { ::munmap(memory, size); };
    data_ = {static_cast<std::byte*>(mapped), unmap};
  }
  // The mapping above stays writable; later mappings cannot write (Linux 5.1).
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL |
                    (access == Access::kReadOnly ? F_SEAL_FUTURE_WRITE : 0);
  if (!is_made || !data_ || ::fcntl(descriptor_.get(), F_ADD_SEALS, seals) != 0) {
    throw EnvironmentError("Cannot share " + std::to_string(size_ >> 20) +
                           " MiB with the submission: " + std::strerror(errno) + ".");
  }
}

bool SharedArray::place(std::int64_t elements, SharedSegment::Access access, Placement placement) {
  bytes = static_cast<std::size_t>(elements) * sizeof(float);
  const std::size_t needed = bytes + 2 * kRedzone;
  const bool is_new = needed > segment.size();
  if (is_new) {
    segment = SharedSegment();  // frees the old memory before asking for more
    segment = SharedSegment(needed, access);
  }
  offset = placement == Placement::kAtEnd     ? segment.size() - bytes
           : placement == Placement::kAtBegin ? 0
                                              : kRedzone;
  return is_new;
}

void SharedArray::fill(std::optional<std::uint32_t> content) const {
  for (const auto& words : surroundings(segment, offset, bytes)) {
    std::ranges::fill(words, oracle::kPoisonBits);
  }
  if (!content) return;
  auto* words = reinterpret_cast<std::uint32_t*>(begin());
  const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
  constexpr std::int64_t kWorthThreads = 1 << 20;
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (std::int64_t i = 0; i < count; ++i) words[i] = *content;
}

bool SharedArray::surroundings_intact() const {
  return std::ranges::all_of(surroundings(segment, offset, bytes), [](const auto& words) {
    return std::ranges::all_of(words,
                               [](std::uint32_t word) { return word == oracle::kPoisonBits; });
  });
}

}  // namespace convlab::grader
