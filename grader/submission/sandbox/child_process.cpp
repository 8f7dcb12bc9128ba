#include "grader/submission/sandbox/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "common/serve/serve.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kEndLimit{2000};
constexpr milliseconds kOftenest{50};  // memory is looked at
constexpr milliseconds kSeldomest{250};

// The environment of a submission: enough to run, nothing about the check.
std::vector<std::string> environment(const std::filesystem::path& folder,
                                     const std::vector<std::string>& more) {
  std::vector<std::string> variables = {"HOME=" + folder.string(), "TMPDIR=" + folder.string()};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OMP_PROC_BIND",
                           "OMP_WAIT_POLICY", "OMP_PLACES", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name)) {
      variables.push_back(std::string(name) + "=" + value);
    }
  }
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

// Memory files that are both open and mapped count twice: no convolution needs both.
std::int64_t open_memory_files(const std::string& place, std::set<ino_t>& seen) {
  constexpr std::int64_t kBlock = 512;
  std::int64_t bytes = 0;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(place + "/fd", unreadable)) {
    const fs::path target = fs::read_symlink(entry.path(), unreadable);
    struct stat status {};
    if (!target.string().starts_with("/memfd:")) continue;
    if (::stat(entry.path().c_str(), &status) != 0 || !seen.insert(status.st_ino).second) continue;
    bytes += std::int64_t{status.st_blocks} * kBlock;
  }
  return bytes;
}

// The sum of some lines of /proc/PID/status, such as "VmHWM:".
std::int64_t status_bytes(const std::string& place, std::initializer_list<const char*> counted) {
  constexpr std::int64_t kKibibyte = 1024;
  std::ifstream status(place + "/status");
  std::int64_t bytes = 0;
  for (std::string name; status >> name; std::getline(status, name)) {
    std::int64_t kibibytes = 0;
    const bool counts = std::ranges::find(counted, name) != counted.end();
    if (counts && status >> kibibytes) bytes += kibibytes * kKibibyte;
  }
  return bytes;
}

// Of some processes, of every kind that the system charges to a process: private,
// shared without a name, swapped out, page tables, and memory files that are open but not mapped.
std::int64_t box_memory(const std::vector<pid_t>& processes) {
  std::set<ino_t> files;
  std::int64_t bytes = 0;
  for (const pid_t process : processes) {
    const std::string place = ThreadWatch::folder_of(process);
    // RssShmem holds shared memory, with and without a name.
    bytes += status_bytes(place, {"RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"}) +
             open_memory_files(place, files);
  }
  return bytes;
}

[[noreturn]] void fail_to_start() {
  throw EnvironmentError(std::string("Cannot start a process for the submission: ") +
                         std::strerror(errno) + ".");
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments, const Options& options)
    : folder_(options.folder), kept_output_(options.kept_output) {
  if (folder_.empty()) folder_ = own_folder_.emplace().path();
  std::array<int, 2> sockets{};
  std::array<int, 2> pipes{};
  std::array<int, 2> notices{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0 ||
      ::pipe2(pipes.data(), O_CLOEXEC) != 0 || ::pipe2(notices.data(), O_CLOEXEC) != 0) {
    fail_to_start();
  }
  channel_ = Descriptor(sockets[0]);
  // A submission that does not take what it has asked for must not hold up the grader.
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const Descriptor child_channel(sockets[1]);
  output_ = Descriptor(pipes[0]);
  const Descriptor child_output(pipes[1]);
  notices_ = Descriptor(notices[0]);
  const Descriptor child_notices(notices[1]);
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(notices_.get(), F_SETFL, O_NONBLOCK);

  Launch launch{
      .policy = options.policy,
      .program = program,
      .arguments = {program.string()},
      .environment = environment(folder_, options.environment),
      .folder = folder_.string(),
      .descriptors = {null.get(), child_output.get(), child_channel.get(), child_notices.get()}};
  launch.arguments.insert(launch.arguments.end(), arguments.begin(), arguments.end());
  for (const std::string& variable : launch.environment) variables_ += variable + '\0';
  memory_limit_ = options.memory_bytes > 0 ? options.memory_bytes : available_memory() / 10 * 9;
  launch.memory_bytes = static_cast<std::uint64_t>(memory_limit_);
  start_ = Clock::now();
  ::prctl(PR_SET_DUMPABLE, 0);  // this process's memory holds expected values
  warden_ = start_in_sandbox(std::move(launch));
  if (warden_ < 0) fail_to_start();
  watch_ = ThreadWatch(warden_);
}

void ChildProcess::read_output() {
  std::array<char, 65536> bytes{};
  while (printed_size_ <= kOutputLimit) {
    const ssize_t count = ::read(output_.get(), bytes.data(), bytes.size());
    if (count <= 0) return;
    const std::string_view text(bytes.data(), static_cast<std::size_t>(count));
    printed_first_.append(
        text.substr(0, kept_output_ - std::min(kept_output_, printed_first_.size())));
    printed_last_.append(text);
    printed_size_ += text.size();
    if (printed_last_.size() > kept_output_) {
      printed_last_.erase(0, printed_last_.size() - kept_output_);
    }
  }
}

void ChildProcess::read_notices() {
  Notice notice;
  while (::read(notices_.get(), &notice, sizeof notice) == sizeof notice) {
    if (notice.kind == Notice::kIsolated) isolation_ = notice.isolation;
    // In its own root the folder is one of memory. That on the disk goes now: a Ctrl-C leaves none.
    if (isolation_ && isolation_->namespaces == 0) own_folder_.reset();
    if (notice.kind == Notice::kNotExecuted) exec_error_ = notice.code;
    if (notice.kind == Notice::kEnded) program_status_ = notice.code;
  }
}

const Isolation& ChildProcess::isolation() {
  read_notices();
  return isolation_ ? *isolation_ : isolation_.emplace();
}

// The program's own process; its number as the grader sees it, not as in its namespace.
pid_t ChildProcess::program() {
  if (program_ < 0 && warden_ > 0) {
    watch_.look();
    const auto processes = watch_.processes();
    if (!processes.empty()) program_ = processes.front();
  }
  return program_;
}

// The next look comes before a program can fill the remaining memory.
bool ChildProcess::takes_all_memory() {
  if (Clock::now() < next_look_ || program() <= 0) return false;
  constexpr std::int64_t kFilledInMs = std::int64_t{2} << 20;  // bytes, by one processor
  watch_.look();
  const std::int64_t left = memory_limit_ - box_memory(watch_.processes());
  const std::int64_t processors = std::max(1U, std::thread::hardware_concurrency());
  next_look_ = Clock::now() +
               std::clamp(milliseconds(left / kFilledInMs / processors), kOftenest, kSeldomest);
  return left < 0;
}

bool ChildProcess::keeps_environment() {
  if (program() <= 0) return true;
  if (!environment_.is_open()) {
    environment_ = Descriptor(
        ::open((ThreadWatch::folder_of(program()) + "/environ").c_str(), O_RDONLY | O_CLOEXEC));
  }
  std::string now(variables_.size() + 1, '\0');
  const ssize_t size = ::pread(environment_.get(), now.data(), now.size(), 0);
  return size <= 0 || now.substr(0, static_cast<std::size_t>(size)) == variables_;
}

bool ChildProcess::freeze() {
  frozen_at_ = std::chrono::nanoseconds(-1);
  if (warden_ <= 0) return true;
  ::kill(-warden_, SIGSTOP);
  // A thread that waits for a disk, or fills gigabytes in one call, stops late. On a busy machine
  // it waits long for the processor on which it would stop, and runs no code then.
  constexpr milliseconds kWithoutProcessor{30'000};
  constexpr milliseconds kNothing{100};
  // Each pause is as long as all before it: few looks, however late it stops.
  constexpr std::chrono::microseconds kLongestPause = milliseconds(20);
  const auto asked = Clock::now();
  const auto before = watch_.processor_time();
  for (std::chrono::microseconds pause{20};; pause = std::min(2 * pause, kLongestPause)) {
    std::this_thread::sleep_for(pause);
    if (watch_.are_stopped() && watch_.look().stopped) break;
    const auto passed = Clock::now() - asked;
    const bool waits = passed > kEndLimit && watch_.look().is_busy() &&
                       watch_.processor_time() - before < kNothing;
    if (passed > (waits ? kWithoutProcessor : kEndLimit)) return false;
    ::kill(-warden_, SIGSTOP);  // its own timer may have continued it
  }
  frozen_at_ = watch_.processor_time();
  // On a busy machine a thread is marked as stopped before the scheduler takes it off its
  // processor, so its last piece of time is counted late.
  constexpr milliseconds kSettles{200};
  for (const auto stopped = Clock::now(); Clock::now() - stopped < kSettles;) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    const auto counted = watch_.processor_time();
    if (counted == frozen_at_) return true;
    frozen_at_ = counted;
  }
  return false;  // something has continued it
}

// What has continued it waits for a processor on a busy machine: its time does not show that.
bool ChildProcess::stands_still() {
  constexpr milliseconds kNothing{1};  // a clock tick, counted late; and threads that stop
  if (warden_ <= 0 || frozen_at_.count() < 0) return true;
  return watch_.are_stopped() && watch_.processor_time() - frozen_at_ <= kNothing;
}

void ChildProcess::thaw() {
  frozen_at_ = std::chrono::nanoseconds(-1);
  if (warden_ > 0) ::kill(-warden_, SIGCONT);
}

Interruptible::Interruptible() {
  asked_ = 0;
  exists_ = 1;
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) { asked_ = 1; };
  action.sa_flags = SA_RESETHAND;
  ::sigaction(SIGINT, &action, &before_);
}

Interruptible::~Interruptible() {
  ::sigaction(SIGINT, &before_, nullptr);
  exists_ = 0;
}

void Interruptible::look() {
  if (exists_ != 0 && asked_ != 0) throw Interrupted{};
}

std::variant<Message, Ending> ChildProcess::receive(milliseconds limit) {
  if (ending_) return *ending_;
  const auto start = Clock::now();
  auto deadline = start + limit;
  std::optional<ThreadUse> begin;  // when the wait began
  bool output_open = true;
  bool ended = false;
  for (;;) {
    auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      // No verdict by a busy machine's clock: only the time counts in which it had its processors.
      constexpr int kMost = 20;
      constexpr std::chrono::nanoseconds kNothing = milliseconds(1);
      const auto passed = Clock::now() - start;
      const ThreadUse use = threads();
      const ThreadUse before = begin.value_or(use);
      const auto had = std::max(use.computed - before.computed, kNothing);
      const auto wanted = had + std::max(use.waited - before.waited, {});
      left = limit - std::chrono::duration_cast<milliseconds>(
                         passed * (std::chrono::duration<double>(had) / wanted));
      if (left < kOftenest || passed > kMost * limit) return kill_because(Ending::Kind::kTimeout);
      deadline = Clock::now() + left;
    }
    std::array<pollfd, 3> events = {{{channel_.get(), POLLIN, 0},
                                     {output_open ? output_.get() : -1, POLLIN, 0},
                                     {notices_.get(), POLLIN, 0}}};
    const auto wait = ended ? 0 : std::min<std::int64_t>(left.count() + 1, kOftenest.count());
    const int ready = ::poll(events.data(), events.size(), static_cast<int>(wait));
    if (takes_all_memory()) return kill_because(Ending::Kind::kMemory);
    Interruptible::look();
    if (ready < 0 || (ready == 0 && !ended)) {  // a signal, or nothing yet: look again
      if (!begin) begin = threads();
      continue;
    }
    if (events[1].revents != 0) {
      read_output();
      if (printed_size_ > kOutputLimit) return kill_because(Ending::Kind::kFlood);
      if ((events[1].revents & POLLIN) == 0) output_open = false;
    }
    if (events[0].revents != 0) {
      if (std::optional<Message> message = receive_message(channel_.get())) {
        return std::move(*message);
      }
      return wait_for_end();
    }
    // Its child processes may still hold the channel. A look that saw the notice of the end may
    // have passed the channel before the last message came, so only the next look counts.
    if (ended) return wait_for_end();
    if (events[2].revents != 0) {
      read_notices();
      ended = program_status_ || (events[2].revents & POLLIN) == 0;
    }
  }
}

Ending ChildProcess::wait(milliseconds limit) {
  auto answer = receive(limit);
  while (!std::holds_alternative<Ending>(answer)) answer = receive(limit);
  return std::get<Ending>(answer);
}

// The channel is closed, so the process is about to end; if it does not, it is ended.
Ending ChildProcess::wait_for_end() {
  int status = 0;
  for (const auto deadline = Clock::now() + kEndLimit; !ending_ && Clock::now() < deadline;) {
    if (::waitpid(warden_, &status, WNOHANG) == warden_) {
      ending_ = ending_of(status);
    } else {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  read_output();
  const Ending ending = stop();
  if (isolation().is_refused()) throw EnvironmentError(refused_part(*isolation_));
  return ending;
}

Ending ChildProcess::kill_because(Ending::Kind kind) {
  read_output();
  stop();
  ending_ = Ending{kind, 0};
  return *ending_;
}

Ending ChildProcess::stop() {
  if (warden_ < 0) return ending_.value_or(Ending{});
  ::kill(warden_, SIGKILL);
  ::kill(-warden_, SIGKILL);  // also its child processes, if there is no namespace
  int status = 0;
  while (!ending_ && ::waitpid(warden_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ending_) ending_ = ending_of(status);
  warden_ = -1;
  return *ending_;
}

Ending ChildProcess::ending_of(int warden_status) {
  read_notices();
  if (exec_error_) return {Ending::Kind::kNoStart, *exec_error_};
  const int status = program_status_.value_or(warden_status);
  if (WIFSIGNALED(status)) return {Ending::Kind::kSignal, WTERMSIG(status)};
  return {Ending::Kind::kExited, WEXITSTATUS(status)};
}

ProcessUsage ChildProcess::usage() {
  ProcessUsage usage;
  usage.elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  if (program() <= 0) return usage;
  const std::string place = "/proc/" + std::to_string(program());
  std::ifstream stat(place + "/stat");
  std::string line;
  std::getline(stat, line);
  // Field 2 is the program's name in parentheses and may contain anything; 14 and 15 are the times.
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  for (int field = 3; field < 14; ++field) fields >> line;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (double user = 0, system = 0; fields >> user >> system) {
    usage.user_s = user / ticks;
    usage.system_s = system / ticks;
  }
  usage.peak_memory_mib = static_cast<double>(status_bytes(place, {"VmHWM:"})) / (1 << 20);
  return usage;
}

}  // namespace convlab::grader
