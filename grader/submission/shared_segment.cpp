#include "grader/submission/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"

namespace convlab::grader {

namespace {

[[noreturn]] void fail(std::size_t size) {
  throw EnvironmentError("Cannot share " + std::to_string(size >> 20) +
                         " MiB with the submission: " + std::strerror(errno) + ".");
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
  if (!descriptor_.is_open() || ::ftruncate(descriptor_.get(), static_cast<off_t>(size_)) != 0) {
    fail(size_);
  }
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapped == MAP_FAILED) fail(size_);
  const auto unmap = [size = size_](std::byte* memory) { ::munmap(memory, size); };
  data_ = {static_cast<std::byte*>(mapped), unmap};
  int seals = F_SEAL_SHRINK | F_SEAL_GROW;
  // The mapping above stays writable; later mappings cannot write (Linux 5.1).
  if (access == Access::kReadOnly) seals |= F_SEAL_FUTURE_WRITE;
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0) fail(size_);
}

}  // namespace convlab::grader
