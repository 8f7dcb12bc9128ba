#pragma once

#include <unistd.h>

#include <utility>

namespace convlab {

/// The descriptor of the channel to the grader, in a program that the grader runs (common/serve).
/// The programs that such a program starts must not inherit it. A filter of system calls guards it
/// by its number, so no file may get that by chance, and it is odd, because few arguments are.
inline constexpr int kServeDescriptor = 1021;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (is_open()) ::close(release());
  }

 private:
  int number_ = -1;
};

}  // namespace convlab
