#include "common/emulation/runtime/uncaught.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "common/base/error.hpp"

namespace convlab::emulation {
namespace {

std::terminate_handler former_handler = nullptr;

[[noreturn]] void end_with_sentence() {
  try {
    if (std::current_exception()) throw;
  } catch (const Error& error) {
    std::fflush(nullptr);
    std::fprintf(stderr, "emulated device: %s\n", error.what());
    std::_Exit(static_cast<int>(error.exit_code()));
  } catch (...) {
  }
  former_handler();
  std::abort();
}

}  // namespace

TellUncaughtErrors::TellUncaughtErrors() {
  if (const auto handler = std::set_terminate(end_with_sentence); handler != end_with_sentence)
    former_handler = handler;
}

TellUncaughtErrors::~TellUncaughtErrors() {
  std::set_terminate(former_handler);
}

}  // namespace convlab::emulation
