#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/milestone/channel.hpp"
#include "common/milestone/result.hpp"

namespace convlab::grader {

/// How a process ended, or was ended.
struct Ending {
  enum class Kind {
    kExited,   ///< of its own accord, with `code`
    kSignal,   ///< of the signal `code`
    kTimeout,  ///< stopped by the grader: the time limit
    kFlood,    ///< stopped by the grader: it printed too much
    kNoStart,  ///< the program could not be executed; `code` is errno
  };
  Kind kind = Kind::kExited;
  int code = 0;
};

/// A submission's program in a process of its own: a channel on kServeDescriptor, its output
/// caught, an empty folder to work in, few environment variables, no other open file, limits on
/// files and core dumps (serve.cpp adds the one on memory). It dies with the grader, and all that
/// it started dies with it.
class ChildProcess {
 public:
  static constexpr std::size_t kOutputLimit = std::size_t{1} << 20;

  /// @throws EnvironmentError if no process or pipe can be had
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] int channel() const { return channel_.get(); }

  /// The next message, or how the process ended instead.
  std::variant<Message, Ending> receive(std::chrono::milliseconds limit);

  /// Ends it if it still runs. What it used is known afterwards.
  Ending stop();

  /// The end of what it printed, at most a few lines.
  [[nodiscard]] std::string output_tail() const;

  /// Of the process so far, from the system's books; `elapsed_s` since its start.
  [[nodiscard]] TotalExecution usage() const;

 private:
  void read_output();
  Ending wait_for_end(std::chrono::milliseconds limit);
  Ending kill_because(Ending::Kind kind);

  std::filesystem::path folder_;
  Descriptor channel_;
  Descriptor output_;
  std::string printed_;
  std::size_t printed_size_ = 0;
  pid_t process_ = -1;
  std::chrono::steady_clock::time_point start_;
  std::optional<Ending> ending_;
};

}  // namespace convlab::grader
