#pragma once

#include <cstdint>
#if !defined(__clang__)
#include <source_location>
#if __cplusplus <= 201703L
// The header is empty before C++20, and so is GCC's built-in function without this type. Its layout
// is the compiler's.
namespace std {
class source_location {
 public:
  struct __impl {  // NOLINT(readability-identifier-naming,bugprone-reserved-identifier)
    const char* _M_file_name;
    const char* _M_function_name;
    unsigned _M_line;
    unsigned _M_column;
  };
  static constexpr source_location current(
      const void* place = __builtin_source_location()) noexcept {
    source_location here;
    here.place_ = static_cast<const __impl*>(place);
    return here;
  }
  [[nodiscard]] constexpr const char* file_name() const noexcept { return place_->_M_file_name; }
  [[nodiscard]] constexpr unsigned line() const noexcept { return place_->_M_line; }
  [[nodiscard]] constexpr unsigned column() const noexcept { return place_->_M_column; }

 private:
  const __impl* place_ = nullptr;
};
}  // namespace std
#endif
#endif

namespace convlab::emulation {

/// The place in the student's file from which a barrier or a warp operation was called. Functions
/// that need it take a last parameter CONVLAB_CALL_SITE, so that nothing shows in the call. The
/// column tells two calls on one line apart.
struct CallSite {
  const char* file = nullptr;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  // One comparison for both numbers: every barrier compares.
  [[nodiscard]] constexpr std::uint64_t position() const {
    return std::uint64_t{column} << 32U | line;
  }
  friend constexpr bool operator==(const CallSite& a, const CallSite& b) {
    return a.file == b.file && a.position() == b.position();
  }

#if defined(__clang__)
  // clang before 16 has no std::source_location, but its built-ins name the outermost call.
  static constexpr CallSite current(const char* file = __builtin_FILE(),
                                    std::uint32_t line = __builtin_LINE(),
                                    std::uint32_t column = __builtin_COLUMN()) {
    return {file, line, column};
  }
};
using Here = CallSite;
#else
  constexpr CallSite() = default;
  constexpr CallSite(const char* source, std::uint32_t at_line, std::uint32_t at_column)
      : file(source), line(at_line), column(at_column) {}
  // Implicit, for CONVLAB_CALL_SITE.
  constexpr CallSite(const std::source_location& place)
      : file(place.file_name()), line(place.line()), column(place.column()) {}
};
using Here = std::source_location;
#endif

#define CONVLAB_CALL_SITE \
  ::convlab::emulation::CallSite site = ::convlab::emulation::Here::current()

}  // namespace convlab::emulation
