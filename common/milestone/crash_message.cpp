#include "common/milestone/crash_message.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>

namespace convlab {

namespace {

std::atomic<const char*> crash_place{"at the start"};

// Only calls that are safe inside a signal handler.
void write_text(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

void explain(int signal) {
  write_text("\nThe program crashed ");
  write_text(crash_place.load());
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      write_text(
          ": it touched memory that is not its own (segmentation fault).\n"
          "Usually an index is outside its array: check the bounds of your loops against\n"
          "H, W, Hout and Wout. The sanitize build names the line:\n"
          "  cmake --preset sanitize && cmake --build --preset sanitize\n");
      break;
    case SIGFPE:
      write_text(": an integer was divided by zero. Check every '/' and '%'.\n");
      break;
    default:
      write_text(": it was aborted. The lines above say why.\n");
      break;
  }
  // The handler was installed for one shot, so this takes the default action.
  raise(signal);
}

}  // namespace

void explain_crashes() {
  // A stack of its own, because a stack overflow is one of the crashes.
  static char stack[16384];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = explain;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

void set_crash_place(const char* place) {
  crash_place.store(place);
}

}  // namespace convlab
