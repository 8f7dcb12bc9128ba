#include "common/serve/mapped_segment.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/base/error.hpp"

namespace convlab {

namespace {

int protection_of(MappedSegment::Access access) {
  return access == MappedSegment::Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
}

}  // namespace

void MappedSegment::map(int descriptor, Access access) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_size <= 0) {
    throw EnvironmentError("A shared memory segment arrived without a size.");
  }
  map_pages(static_cast<std::size_t>(status.st_size), protection_of(access),
            MAP_SHARED | MAP_POPULATE, descriptor);
}

void MappedSegment::make(std::size_t size) {
  map_pages(size, protection_of(Access::kWrite), MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void MappedSegment::allow(Access access) {
  ::mprotect(data_, mapped_size_, protection_of(access));
}

void MappedSegment::map_pages(std::size_t size, int protection, int flags, int descriptor) {
  reserved_ = {};
  data_ = nullptr;
  size_ = mapped_size_ = 0;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t mapped_size = (size + page - 1) / page * page;
  const std::size_t whole = mapped_size + 2 * kGuardBytes;
  void* reserved =
      ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    throw EnvironmentError("No address space for " + std::to_string(size) + " bytes.");
  }
  reserved_ = {static_cast<std::byte*>(reserved), [whole](auto* at) { ::munmap(at, whole); }};
  std::byte* begin = reserved_.get() + kGuardBytes;
  void* mapped = ::mmap(begin, mapped_size, protection, flags | MAP_FIXED, descriptor, 0);
  if (mapped == MAP_FAILED) {
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
