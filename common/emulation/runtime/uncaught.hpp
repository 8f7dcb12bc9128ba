#pragma once

namespace convlab::emulation {

/// While one of these lives, an uncaught convlab::Error ends the program with its sentence and its
/// exit code. For programs with a main of their own, which do not catch our errors.
class TellUncaughtErrors {
 public:
  TellUncaughtErrors();
  ~TellUncaughtErrors();
  TellUncaughtErrors(const TellUncaughtErrors&) = delete;
  TellUncaughtErrors& operator=(const TellUncaughtErrors&) = delete;
};

}  // namespace convlab::emulation
