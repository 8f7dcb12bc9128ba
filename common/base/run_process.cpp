#include "common/base/run_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/base/address_sanitizer.hpp"
#include "common/base/descriptor.hpp"
#include "common/base/error.hpp"

namespace convlab {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using End = FinishedProcess::End;

// How often the time limit and the interruption are checked.
constexpr milliseconds kLook{50};

[[noreturn]] void fail_to_start(const Command& command, int error) {
  throw EnvironmentError("The program " + command.words.at(0) +
                         " cannot be started: " + std::strerror(error) + ".");
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// This process's variables; `more` overrides those with the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> variables = more;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    const std::string name = variable.substr(0, variable.find('=') + 1);
    const bool replaced = std::any_of(
        more.begin(), more.end(), [&](const std::string& one) { return one.starts_with(name); });
    if (!replaced) variables.push_back(variable);
  }
  return variables;
}

/// The way of one output: the program writes `to`.
struct Pipe {
  Descriptor from{};
  Descriptor to{};

  void open(const Command& command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start(command, errno);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
  }

  // Appends the available output: at most a part at a time, so that limits are checked even if a
  // program never stops printing; but more than a pipe holds, so that no last output is lost.
  void read_available(std::string& text) {
    // Small: the emulated device asks addr2line on the stack of a signal handler.
    std::array<char, 4096> bytes{};
    constexpr std::size_t kMost = std::size_t{1} << 20;
    const std::size_t end = text.size() + kMost;
    while (from.is_open() && text.size() < end) {
      const ssize_t count = ::read(from.get(), bytes.data(), bytes.size());
      if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
      if (count < 0 && errno == EAGAIN) return;
      if (count == 0 || (count < 0 && errno != EINTR)) from.close();
    }
  }
};

/// The data that the new process needs before exec, where nothing may be allocated.
struct Launch {
  char* const* words;
  char* const* environment;
  const char* folder;
  int input;
  int output;  // -1: this process's
  int errors;
  pid_t parent;
};

[[noreturn]] void become(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a shell may end its own processes then
  if (::getppid() != launch.parent) ::_exit(kNoSuchProgram);  // the parent died before the prctl
  ::dup2(launch.input, STDIN_FILENO);
  if (launch.output >= 0) ::dup2(launch.output, STDOUT_FILENO);
  if (launch.errors >= 0) ::dup2(launch.errors, STDERR_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  if (*launch.folder == '\0' || ::chdir(launch.folder) == 0) {
    ::execvpe(launch.words[0], launch.words, launch.environment);
  }
  ::_exit(kNoSuchProgram);
}

}  // namespace

FinishedProcess run_process(const Command& command) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = environment_with(command.environment);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe output;
  Pipe errors;
  if (command.output != Command::Output::kShown) output.open(command);
  if (command.output == Command::Output::kSeparate) errors.open(command);
  const Launch launch{.words = word_pointers.data(),
                      .environment = variable_pointers.data(),
                      .folder = command.folder.c_str(),
                      .input = input.get(),
                      .output = output.to.get(),
                      .errors = errors.to.is_open() ? errors.to.get() : output.to.get(),
                      .parent = ::getpid()};
#if CONVLAB_ADDRESS_SANITIZER
  // After vfork the sanitizer touches what it takes for the stack; a signal handler has another. So
  // the memory is copied; without this flag the isolation of a submission would refuse it.
  const auto process = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
#else
  // vfork, as posix_spawn does it: no copy of this process's memory is made, which may be
  // gigabytes, and which the isolation of a submission refuses.
  const pid_t process = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
#endif
  if (process < 0) fail_to_start(command, errno);
  if (process == 0) become(launch);
  ::setpgid(process, process);  // both processes do this; the first one counts
  output.to.close();
  errors.to.close();

  FinishedProcess finished;
  const auto deadline = Clock::now() + command.time_limit;
  int status = 0;
  while (true) {
    const bool ended = ::waitpid(process, &status, WNOHANG) == process;
    output.read_available(finished.output);  // after waitpid, so that no last output is lost
    errors.read_available(finished.errors);
    if (ended) break;
    if (finished.output.size() + finished.errors.size() > command.output_limit) {
      finished.end = End::kOutputLimit;
    } else if (command.interrupted()) {
      finished.end = End::kInterrupted;
    } else if (command.time_limit.count() > 0 && Clock::now() >= deadline) {
      finished.end = End::kTimeLimit;
    }
    if (finished.end != End::kExited) {
      ::kill(-process, SIGKILL);
      ::waitpid(process, &status, 0);
      break;
    }
    // Closed pipes deliver nothing more; then only wait for the end of the process.
    std::array<pollfd, 2> pipes = {
        {{output.from.get(), POLLIN, 0}, {errors.from.get(), POLLIN, 0}}};
    const bool open = output.from.is_open() || errors.from.is_open();
    ::poll(pipes.data(), pipes.size(), static_cast<int>(open ? kLook.count() : 2));
  }
  constexpr int kSignal = 128;
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
  return finished;
}

std::string trimmed_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

}  // namespace convlab
