#include "grader/integrity/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/error/error.hpp"
#include "common/milestone/serve.hpp"

namespace convlab::grader {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kCannotExecute = 127;
constexpr std::size_t kTailLimit = 4096;

// What a submission may learn about its surroundings: enough to run, nothing about the check.
std::vector<std::string> environment(const std::filesystem::path& folder) {
  std::vector<std::string> variables = {"HOME=" + folder.string(), "TMPDIR=" + folder.string()};
  for (const char* name :
       {"PATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES",
        "OMP_WAIT_POLICY", "CONVLAB_ISA", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name)) {
      variables.push_back(std::string(name) + "=" + value);
    }
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

void limit(int resource, rlim_t value) {
  const rlimit limits{value, value};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
}

/// All that the new process needs between fork and exec, where nothing may be allocated.
struct Launch {
  const char* program;
  const char* folder;
  char** arguments;
  char** environment;
  int channel;
  int output;
  int null;
  pid_t parent;
};

[[noreturn]] void run_program(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(kCannotExecute);  // it died before we asked
  // Descriptors move out of the way of 0 to 3 before they are put there.
  constexpr int kAbove = 16;
  const int channel = ::fcntl(launch.channel, F_DUPFD, kAbove);
  const int output = ::fcntl(launch.output, F_DUPFD, kAbove);
  const int null = ::fcntl(launch.null, F_DUPFD, kAbove);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::dup2(channel, kServeDescriptor);
  ::syscall(SYS_close_range, kServeDescriptor + 1, ~0U, 0);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, rlim_t{64} << 20);
  if (::chdir(launch.folder) == 0) ::execve(launch.program, launch.arguments, launch.environment);
  ::_exit(kCannotExecute);
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return {Ending::Kind::kSignal, WTERMSIG(status)};
  if (WEXITSTATUS(status) == kCannotExecute) return {Ending::Kind::kNoStart, ENOEXEC};
  return {Ending::Kind::kExited, WEXITSTATUS(status)};
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "convlab-XXXXXX").string();
  std::array<int, 2> sockets{};
  std::array<int, 2> pipes{};
  if (::mkdtemp(folder.data()) == nullptr ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0 ||
      ::pipe2(pipes.data(), O_CLOEXEC) != 0) {
    throw EnvironmentError(std::string("Cannot prepare a process for the submission: ") +
                           std::strerror(errno) + ".");
  }
  folder_ = folder;
  channel_ = Descriptor(sockets[0]);
  const Descriptor child_channel(sockets[1]);
  output_ = Descriptor(pipes[0]);
  const Descriptor child_output(pipes[1]);
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);

  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment(folder_);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const std::string program_name = program.string();
  const Launch launch{.program = program_name.c_str(),
                      .folder = folder.c_str(),
                      .arguments = const_cast<char**>(word_pointers.data()),
                      .environment = const_cast<char**>(variable_pointers.data()),
                      .channel = child_channel.get(),
                      .output = child_output.get(),
                      .null = null.get(),
                      .parent = ::getpid()};
  start_ = Clock::now();
  process_ = ::fork();
  if (process_ < 0) {
    throw EnvironmentError(std::string("Cannot start a process for the submission: ") +
                           std::strerror(errno) + ".");
  }
  if (process_ == 0) run_program(launch);
  ::setpgid(process_, process_);  // whoever of the two comes first
}

ChildProcess::~ChildProcess() {
  stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void ChildProcess::read_output() {
  std::array<char, 65536> bytes{};
  while (printed_size_ <= kOutputLimit) {
    const ssize_t count = ::read(output_.get(), bytes.data(), bytes.size());
    if (count <= 0) return;
    printed_.append(bytes.data(), static_cast<std::size_t>(count));
    printed_size_ += static_cast<std::size_t>(count);
    if (printed_.size() > kTailLimit) printed_.erase(0, printed_.size() - kTailLimit);
  }
}

std::variant<Message, Ending> ChildProcess::receive(milliseconds limit) {
  if (ending_) return *ending_;
  const auto deadline = Clock::now() + limit;
  bool output_open = true;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return kill_because(Ending::Kind::kTimeout);
    std::array<pollfd, 2> events = {
        {{channel_.get(), POLLIN, 0}, {output_open ? output_.get() : -1, POLLIN, 0}}};
    const int wait = static_cast<int>(std::min<std::int64_t>(left.count() + 1, 60'000));
    if (::poll(events.data(), events.size(), wait) < 0) continue;  // a signal: look again
    if (events[1].revents != 0) {
      read_output();
      if (printed_size_ > kOutputLimit) return kill_because(Ending::Kind::kFlood);
      if ((events[1].revents & POLLIN) == 0) output_open = false;
    }
    if (events[0].revents != 0) {
      if (std::optional<Message> message = receive_message(channel_.get())) {
        return std::move(*message);
      }
      return wait_for_end(milliseconds(2000));
    }
  }
}

// The channel is closed, so the process is about to end; if it does not, it is ended.
Ending ChildProcess::wait_for_end(milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!ending_ && Clock::now() < deadline) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      ending_ = ending_of(status);
      break;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  read_output();
  return stop();
}

Ending ChildProcess::kill_because(Ending::Kind kind) {
  read_output();
  stop();
  ending_ = Ending{kind, 0};
  return *ending_;
}

Ending ChildProcess::stop() {
  if (process_ < 0) return ending_.value_or(Ending{});
  ::kill(-process_, SIGKILL);  // also what it may have started
  if (!ending_) {
    ::kill(process_, SIGKILL);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    ending_ = ending_of(status);
  }
  process_ = -1;
  return *ending_;
}

std::string ChildProcess::output_tail() const {
  return printed_;
}

TotalExecution ChildProcess::usage() const {
  TotalExecution usage;
  usage.elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  if (process_ < 0) return usage;
  const std::string place = "/proc/" + std::to_string(process_);
  std::ifstream stat(place + "/stat");
  std::string line;
  std::getline(stat, line);
  // Field 2 is the program's name in parentheses and may hold anything; 14 and 15 are the times.
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (double user = 0, system = 0; fields >> user >> system) {
    usage.user_s = user / ticks;
    usage.system_s = system / ticks;
  }
  std::ifstream status(place + "/status");
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) != 0) continue;
    constexpr double kKibPerMib = 1024.0;
    usage.peak_memory_mib = std::strtod(line.c_str() + std::strlen("VmHWM:"), nullptr) / kKibPerMib;
  }
  return usage;
}

}  // namespace convlab::grader
