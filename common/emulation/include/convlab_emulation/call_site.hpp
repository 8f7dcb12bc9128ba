#pragma once

#include <cstdint>
#if !defined(__clang__)
#if __cplusplus > 201703L
#include <source_location>
#else
// The header is empty before C++20, and GCC's built-in function wants this type.
namespace std {
struct source_location {
  struct __impl {  // NOLINT(readability-identifier-naming,bugprone-reserved-identifier)
    const char* _M_file_name;
    const char* _M_function_name;
    unsigned _M_line;
    unsigned _M_column;
  };
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

  // As the default of a parameter the built-in functions name the outermost call.
#if defined(__clang__)
  static constexpr CallSite current(const char* file = __builtin_FILE(),
                                    std::uint32_t line = __builtin_LINE(),
                                    std::uint32_t column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#else
  static CallSite current(const void* place = __builtin_source_location()) {
    struct [[gnu::may_alias]] Place {  // laid out as std::source_location::__impl
      const char* file;
      const char* function;
      std::uint32_t line;
      std::uint32_t column;
    };
    const auto* const at = static_cast<const Place*>(place);
    return {at->file, at->line, at->column};
  }
#endif
};

#define CONVLAB_CALL_SITE \
  ::convlab::emulation::CallSite site = ::convlab::emulation::CallSite::current()

}  // namespace convlab::emulation
