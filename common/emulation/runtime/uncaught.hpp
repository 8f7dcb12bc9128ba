#pragma once

namespace convlab::emulation {

/// A program with a main of its own catches no error of ours, and nothing else would tell its user:
/// while one of these lives, an error that nobody catches ends it with a sentence and the exit
/// code.
class TellUncaughtErrors {
 public:
  TellUncaughtErrors();
  ~TellUncaughtErrors();
  TellUncaughtErrors(const TellUncaughtErrors&) = delete;
  TellUncaughtErrors& operator=(const TellUncaughtErrors&) = delete;
};

}  // namespace convlab::emulation
