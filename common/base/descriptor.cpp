#include "common/base/descriptor.hpp"

#include <unistd.h>

#include <utility>

namespace convlab {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  close();
}

int Descriptor::release() {
  return std::exchange(number_, -1);
}

void Descriptor::close() {
  if (is_open()) ::close(release());
}

}  // namespace convlab
