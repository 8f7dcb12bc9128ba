#include "grader/cli/bounded_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "common/error/error.hpp"
#include "common/milestone/channel.hpp"

namespace convlab::grader {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kNoProgram = 127;
constexpr milliseconds kLook{50};

[[noreturn]] void become(char* const* words, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNoProgram);  // it died before we asked
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  ::execvp(words[0], words);
  ::_exit(kNoProgram);
}

int exit_code_of(int status) {
  constexpr int kSignal = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
}

void read_what_is_there(int descriptor, std::string& output) {
  std::array<char, 65536> bytes{};
  for (ssize_t count = 0; (count = ::read(descriptor, bytes.data(), bytes.size())) > 0;) {
    output.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

BoundedRun run_bounded(const BoundedCommand& command) {
  std::vector<std::string> words = command.words;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::array<int, 2> pipes{-1, -1};
  if (command.catch_output && ::pipe2(pipes.data(), O_CLOEXEC) != 0) {
    throw EnvironmentError(std::string("Cannot start ") + words[0] + ": " + std::strerror(errno) +
                           ".");
  }
  const Descriptor from(pipes[0]);
  Descriptor to(pipes[1]);
  if (command.catch_output) ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    throw EnvironmentError(std::string("Cannot start ") + words[0] + ": " + std::strerror(errno) +
                           ".");
  }
  if (process == 0) become(pointers.data(), to.get(), parent);
  ::setpgid(process, process);  // whoever of the two comes first
  to = Descriptor();

  BoundedRun run;
  const auto deadline = Clock::now() + command.limit;
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    const bool stop = command.interrupted != nullptr && *command.interrupted != 0;
    if (stop || Clock::now() >= deadline) {
      run.end = stop ? BoundedRun::End::kInterrupted : BoundedRun::End::kTimeLimit;
      ::kill(-process, SIGKILL);
      ::waitpid(process, &status, 0);
      break;
    }
    pollfd output{from.get(), POLLIN, 0};
    ::poll(&output, 1, static_cast<int>(kLook.count()));
    if ((output.revents & POLLIN) != 0) {
      read_what_is_there(from.get(), run.output);
    } else if (output.revents != 0) {
      std::this_thread::sleep_for(kLook / 10);  // closed: it is about to end
    }
  }
  if (command.catch_output) read_what_is_there(from.get(), run.output);
  run.exit_code = exit_code_of(status);
  return run;
}

}  // namespace convlab::grader
