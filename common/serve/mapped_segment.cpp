#include "common/serve/mapped_segment.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/error/error.hpp"

namespace convlab {

MappedSegment::~MappedSegment() {
  unmap();
}

void MappedSegment::unmap() {
  if (data_ != nullptr) ::munmap(data_ - kGuardBytes, mapped_size_ + 2 * kGuardBytes);
  data_ = nullptr;
  size_ = mapped_size_ = 0;
}

void MappedSegment::map(int descriptor, Access access, Pages pages) {
  unmap();
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_size <= 0) {
    throw EnvironmentError("A shared memory segment arrived without a size.");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped_size = (size + page - 1) / page * page;
  void* reserved = ::mmap(nullptr, mapped_size + 2 * kGuardBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    throw EnvironmentError("No address space for " + std::to_string(size) + " bytes.");
  }
  std::byte* begin = static_cast<std::byte*>(reserved) + kGuardBytes;
  const int protection = access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = MAP_SHARED | MAP_FIXED | (pages == Pages::kPresent ? MAP_POPULATE : 0);
  void* mapped = ::mmap(begin, mapped_size, protection, flags, descriptor, 0);
  if (mapped == MAP_FAILED) {
    ::munmap(reserved, mapped_size + 2 * kGuardBytes);
    throw EnvironmentError("No memory to map " + std::to_string(size) + " bytes.");
  }
  data_ = begin;
  size_ = size;
  mapped_size_ = mapped_size;
}

bool MappedSegment::contains(std::uintptr_t address) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data_);
  return data_ != nullptr && address >= begin && address < begin + mapped_size_;
}

bool MappedSegment::is_near(std::uintptr_t address) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data_);
  return data_ != nullptr && address + kGuardBytes >= begin &&
         address < begin + mapped_size_ + kGuardBytes;
}

}  // namespace convlab
