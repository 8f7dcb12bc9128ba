#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/data/dataset.hpp"
#include "grader/submission/sandbox/child_process.hpp"

using namespace convlab;
using grader::ChildProcess;
using grader::Ending;
using grader::SandboxKind;
using std::chrono::seconds;

namespace {

constexpr std::initializer_list<SandboxKind> kPrograms = {SandboxKind::kCpu, SandboxKind::kEmulated,
                                                          SandboxKind::kGpu};

Ending run(const std::vector<std::string>& words, const grader::SandboxPolicy& policy = {}) {
  ChildProcess process(ESCAPE_PROGRAM, words, {.policy = policy});
  return process.wait(seconds(20));
}

Ending attempt(const std::string& name, const std::string& argument = "",
               const grader::SandboxPolicy& policy = {}) {
  return run({name, argument}, policy);
}

// A system call by its number.
Ending call(SandboxKind kind, const std::vector<long>& numbers) {
  std::vector<std::string> words = {"call"};
  for (const long number : numbers) words.push_back(std::to_string(number));
  return run(words, {.kind = kind});
}

bool succeeded(const Ending& ending) {
  return ending.kind == Ending::Kind::kExited && ending.code == 0;
}

bool is_trapped(const Ending& ending) {
  return ending.kind == Ending::Kind::kSignal && ending.code == SIGSYS;
}

}  // namespace

TEST_CASE("sandbox: says what isolates a program, and what was left out") {
  CHECK(grader::describe(grader::probe_isolation()) ==
        "isolation: namespaces, system calls, no capabilities, limits");
  CHECK(grader::describe({.namespaces = ECANCELED}) ==
        "isolation: system calls, no capabilities, limits; left out: namespaces");
}

TEST_CASE("sandbox: a machine that isolates nothing starts nothing and says what helps") {
  CHECK(grader::refused_part({.namespaces = ECANCELED}).empty());
  const std::string refused = grader::refused_part({.namespaces = EPERM});
  CHECK(refused.find("namespaces: Operation not permitted") != std::string::npos);
  CHECK(refused.find("CONVLAB_ISOLATION_WITHOUT=namespaces") != std::string::npos);
  CHECK(grader::refused_part({.system_calls = EINVAL}).find("WITHOUT=calls") != std::string::npos);
}

TEST_CASE("sandbox: a program has its folder, its channel, a session and little more") {
  CHECK(succeeded(attempt("write", "mine")));
  CHECK(succeeded(attempt("descriptors")));
  CHECK(succeeded(attempt("own-session")));
  REQUIRE(::setenv("CONVLAB_TEST_SECRET", "seed", 1) == 0);
  CHECK(attempt("variables").code < 12);
  ::unsetenv("CONVLAB_TEST_SECRET");
  for (const std::string folder : {"/tmp/", "/dev/shm/"}) {
    const std::string file = folder + "convlab-test-" + std::to_string(::getpid());
    CHECK(succeeded(attempt("write", file)));
    CHECK_FALSE(std::filesystem::exists(file));
  }
}

TEST_CASE("sandbox: files of others stay as they are, and unread") {
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() / "precious";
  std::ofstream(file) << "labels";
  CHECK_FALSE(succeeded(attempt("remove", file)));
  CHECK_FALSE(succeeded(attempt("write", file)));
  CHECK_FALSE(succeeded(attempt("write", (folder.path() / "new").string())));
  CHECK_FALSE(succeeded(attempt("read", file)));
  CHECK(std::filesystem::file_size(file) == 6);
  CHECK(succeeded(attempt("read", file, {.readable = {folder.path()}})));
  CHECK(succeeded(attempt("read", "/usr/lib")));
}

TEST_CASE("sandbox: only what is listed can be read, by a compiler as well") {
  std::vector<std::string> secrets = {"/etc/shadow", "/etc/passwd",    "/root",    "/home",
                                      "/var/log",    "/run",           "/dev/tty", "/dev/ptmx",
                                      "/dev/pts",    "/proc/1/environ"};
  for (const auto& data : dataset_folders()) secrets.push_back(data.string());
  for (const SandboxKind kind :
       {SandboxKind::kCpu, SandboxKind::kEmulated, SandboxKind::kGpu, SandboxKind::kCompiler}) {
    for (const std::string& secret : secrets) {
      CAPTURE(secret, static_cast<int>(kind));
      CHECK_FALSE(succeeded(attempt("read", secret, {.kind = kind})));
    }
    // A compiler would read it without end.
    CHECK(succeeded(attempt("read", "/dev/urandom", {.kind = kind})) ==
          (kind != SandboxKind::kCompiler));
  }
}

TEST_CASE("sandbox: only three calls reach the channel, and no code is made at run time") {
  for (const SandboxKind kind : kPrograms) {
    for (const long number :
         {SYS_read,     SYS_write,    SYS_readv,   SYS_writev,   SYS_pread64,  SYS_pwrite64,
          SYS_preadv,   SYS_pwritev,  SYS_preadv2, SYS_pwritev2, SYS_recvfrom, SYS_recvmmsg,
          SYS_sendmmsg, SYS_sendfile, SYS_splice,  SYS_tee,      SYS_vmsplice, SYS_dup,
          SYS_dup3,     SYS_fcntl,    SYS_ioctl,   SYS_close}) {
      CAPTURE(static_cast<int>(kind), number);
      CHECK(is_trapped(call(kind, {number, kServeDescriptor})));
    }
    for (const long number : {SYS_sendfile, SYS_tee, SYS_dup3}) {
      CHECK(is_trapped(call(kind, {number, 0, kServeDescriptor})));
    }
    for (const long number : {SYS_splice, SYS_copy_file_range}) {
      CHECK(is_trapped(call(kind, {number, 0, 0, kServeDescriptor})));
    }
    constexpr long kCode = PROT_READ | PROT_WRITE | PROT_EXEC;
    CHECK(succeeded(call(kind, {SYS_mmap, 0, 4096, kCode, MAP_PRIVATE | MAP_ANONYMOUS, -1})) ==
          (kind == SandboxKind::kGpu));
  }
}

TEST_CASE("sandbox: no program but the first is executed, by its loader neither") {
  for (const char* program : {"/usr/bin/id", "/lib64/ld-linux-x86-64.so.2", ESCAPE_PROGRAM}) {
    CHECK(is_trapped(attempt("execute", program)));
    CHECK(is_trapped(attempt("execute-descriptor", program)));
  }
  CHECK_FALSE(succeeded(attempt("execute", "/usr/bin/id", {.kind = SandboxKind::kGpu})));
}

TEST_CASE("sandbox: memory that no limit counts is not to be had on the CPU") {
  constexpr long kFlags = PROT_READ | PROT_WRITE;
  CHECK(call(SandboxKind::kCpu, {SYS_memfd_create}).code == EPERM);
  CHECK(call(SandboxKind::kCpu, {SYS_shmget, 0, 4096, 0600}).code == EPERM);
  CHECK(call(SandboxKind::kCpu, {SYS_mmap, 0, 4096, kFlags, MAP_SHARED | MAP_ANONYMOUS, -1}).code ==
        EPERM);
  CHECK_FALSE(succeeded(attempt("read", "/dev/zero")));
  CHECK(succeeded(
      call(SandboxKind::kCpu, {SYS_mmap, 0, 4096, kFlags, MAP_PRIVATE | MAP_ANONYMOUS, -1})));
}

TEST_CASE("sandbox: is the first to be ended where memory is short, and stays so") {
  CHECK(succeeded(attempt("ended-first")));
  CHECK_FALSE(succeeded(attempt("write", "/proc/self/oom_score_adj")));
}

TEST_CASE("sandbox: takes no more memory than it may, of whatever kind") {
  constexpr std::int64_t kFew = std::int64_t{100} << 20;
  // If the first thread of a process has ended, only its other threads show their state.
  for (const char* name : {"take-memory", "take-memory-in-second-thread"}) {
    CAPTURE(name);
    ChildProcess process(ESCAPE_PROGRAM, {name},
                         {.policy = {.kind = SandboxKind::kGpu}, .memory_bytes = kFew});
    CHECK(process.wait(seconds(20)).kind == Ending::Kind::kMemory);
  }
}

TEST_CASE("sandbox: what it prints reaches nobody's terminal raw") {
  ChildProcess process(ESCAPE_PROGRAM, {"print-escape"}, {});
  process.wait(seconds(20));
  CHECK(process.output_tail() == "�[2J�[32mPASSED\n");
}

TEST_CASE("sandbox: calls that no convolution makes end the program") {
  const long self = ::getpid();
  for (const std::vector<long>& numbers : {std::vector<long>{SYS_clone, SIGCHLD},
                                           {SYS_clone, CLONE_VFORK | CLONE_VM | SIGCHLD},
                                           {SYS_ptrace, 0},
                                           {SYS_socket, AF_INET, SOCK_STREAM},
                                           {SYS_mount},
                                           {SYS_open_tree},
                                           {SYS_unshare, CLONE_NEWUSER},
                                           {SYS_kill, 1, SIGKILL}}) {
    CAPTURE(numbers[0]);
    CHECK(is_trapped(call(SandboxKind::kCpu, numbers)));
  }
  CHECK(succeeded(attempt("thread")));
  CHECK(succeeded(attempt("signal-self")));
  for (const SandboxKind kind : {SandboxKind::kCpu, SandboxKind::kGpu, SandboxKind::kCompiler}) {
    for (const long number :
         {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) {
      CAPTURE(number, static_cast<int>(kind));
      const Ending ending = call(kind, {number, self, self, SIGCONT});
      CHECK((is_trapped(ending) || ending.code == EPERM));
    }
    CHECK(is_trapped(call(kind, {SYS_pidfd_send_signal, 0, SIGCONT})));
    CHECK_FALSE(succeeded(call(kind, {SYS_fcntl, 1, F_SETOWN, self})));
  }
  CHECK(call(SandboxKind::kCpu, {SYS_setsid}).code == EPERM);
}

TEST_CASE("sandbox: leaves what NVIDIA's driver needs to start, and no more of the kind") {
  constexpr SandboxKind kGpu = SandboxKind::kGpu;
  CHECK(succeeded(attempt("write", "/proc/self/comm", {.kind = kGpu})));
  CHECK_FALSE(succeeded(attempt("write", "/proc/1/comm", {.kind = kGpu})));
  CHECK_FALSE(succeeded(attempt("write", "/proc/sys/kernel/core_pattern", {.kind = kGpu})));
  CHECK(succeeded(call(kGpu, {SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC})));
  CHECK(call(SandboxKind::kCpu, {SYS_socket, AF_UNIX, SOCK_SEQPACKET}).code == EACCES);
  CHECK(call(kGpu, {SYS_socket, AF_UNIX, SOCK_DGRAM}).code == EACCES);
  CHECK(call(kGpu, {SYS_socketpair, AF_UNIX, SOCK_DGRAM}).code == EACCES);
  CHECK(call(kGpu, {SYS_connect, 0}).code == ENOENT);  // as if there were no helper
}

TEST_CASE("sandbox: without namespaces a program runs where somebody decided that") {
  REQUIRE(::setenv("CONVLAB_ISOLATION_WITHOUT", "namespaces", 1) == 0);
  const grader::Isolation isolation = grader::probe_isolation();
  const Ending own = attempt("write", "mine");
  ::unsetenv("CONVLAB_ISOLATION_WITHOUT");
  CHECK(succeeded(own));
  CHECK(isolation.namespaces == ECANCELED);
  CHECK(isolation.system_calls == 0);
}

TEST_CASE("sandbox: an emulated program does not read memory past its protection") {
  for (const char* way : {"seek", "steps", "place"}) {
    CAPTURE(way);
    CHECK(succeeded(attempt("read-own-memory", way, {.kind = SandboxKind::kCpu})));
    CHECK_FALSE(succeeded(attempt("read-own-memory", way, {.kind = SandboxKind::kEmulated})));
  }
}

TEST_CASE("sandbox: processor and files are limited") {
  const Ending busy = attempt("processor", "", {.cpu_seconds = 1});
  CHECK(busy.kind == Ending::Kind::kSignal);
  CHECK((busy.code == SIGXCPU || busy.code == SIGKILL));
  const int error = attempt("huge-file").code;
  CHECK((error == EFBIG || error == ENOSPC));
}

TEST_CASE("sandbox: a busy machine changes no verdict about time") {
  std::atomic<bool> ends{false};
  std::vector<std::thread> beside(6 * std::max(1U, std::thread::hardware_concurrency()));
  for (std::thread& each : beside) {
    each = std::thread([&] {
      while (!ends) {
      }
    });
  }
  // It ends after one second of processor time, for which it now needs several.
  ChildProcess computes(ESCAPE_PROGRAM, {"processor"}, {.policy = {.cpu_seconds = 1}});
  const Ending computing = computes.wait(std::chrono::milliseconds(2500));
  ChildProcess waits(ESCAPE_PROGRAM, {"waits"}, {});
  const Ending waiting = waits.wait(seconds(1));
  ends = true;
  for (std::thread& each : beside) each.join();
  CHECK(computing.kind == Ending::Kind::kSignal);
  CHECK(waiting.kind == Ending::Kind::kTimeout);
}

TEST_CASE("sandbox: what has been continued does not stand still, even if it computes nothing") {
  ChildProcess waits(ESCAPE_PROGRAM, {"waits"}, {});
  grader::ThreadWatch watch(::getpid());
  while (watch.look().states.find('S') == std::string::npos || watch.processes().size() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(waits.freeze());
  CHECK(waits.stands_still());
  ::kill(watch.processes().back(), SIGCONT);
  CHECK_FALSE(waits.stands_still());
  CHECK(waits.freeze());
  CHECK(waits.stands_still());
}

TEST_CASE("sandbox: a program that does not exist is told apart from one that fails") {
  ChildProcess process("/nonexistent/program", {}, {});
  const Ending ending = process.wait(seconds(10));
  CHECK(ending.kind == Ending::Kind::kNoStart);
  CHECK(ending.code == ENOENT);
}

TEST_CASE("sandbox: starts programs while other threads hold the C library's locks") {
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!done) {
        const auto memory = std::make_unique<char[]>(std::size_t{1} << 16);
        std::ifstream("/dev/null");
      }
    });
  }
  constexpr int kStarts = 300;
  int ended = 0;
  for (; ended < kStarts; ++ended) {
    ChildProcess process("/bin/true", {}, {.policy = {.kind = SandboxKind::kCompiler}});
    if (!succeeded(process.wait(seconds(20)))) break;
  }
  done = true;
  for (std::thread& other : others) other.join();
  CHECK(ended == kStarts);
}
