#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/data/dataset.hpp"
#include "grader/submission/sandbox/child_process.hpp"
#include "grader/submission/sandbox/sandbox.hpp"

using namespace convlab;
using grader::ChildProcess;
using grader::Ending;
using grader::SandboxKind;
using std::chrono::seconds;

namespace {

Ending attempt(const std::string& name, const std::string& argument = "",
               const grader::SandboxPolicy& policy = {}) {
  std::vector<std::string> words = {name};
  if (!argument.empty()) words.push_back(argument);
  ChildProcess process(ESCAPE_PROGRAM, words, {.policy = policy});
  return process.wait(seconds(20));
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
  CHECK(grader::refused_part({}).empty());
  CHECK(grader::refused_part({.namespaces = ECANCELED}).empty());
  const std::string refused = grader::refused_part({.namespaces = EPERM});
  CHECK(refused.find("namespaces: Operation not permitted") != std::string::npos);
  CHECK(refused.find("CONVLAB_ISOLATION_WITHOUT=namespaces") != std::string::npos);
  CHECK(grader::refused_part({.system_calls = EINVAL}).find("WITHOUT=calls") != std::string::npos);
}

TEST_CASE("sandbox: a program has its folder, its channel and little more") {
  CHECK(succeeded(attempt("own-file")));
  CHECK(succeeded(attempt("descriptors")));
  REQUIRE(::setenv("CONVLAB_TEST_SECRET", "seed", 1) == 0);
  CHECK(attempt("variables").code < 12);
  ::unsetenv("CONVLAB_TEST_SECRET");
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
  for (const SandboxKind kind :
       {SandboxKind::kCpu, SandboxKind::kEmulated, SandboxKind::kGpu, SandboxKind::kCompiler}) {
    for (const char* secret : {"/etc/shadow", "/etc/passwd", "/root", "/home", "/var/log", "/run",
                               "/dev/tty", "/dev/ptmx", "/dev/pts", "/proc/1/environ"}) {
      CAPTURE(secret, static_cast<int>(kind));
      CHECK_FALSE(succeeded(attempt("read", secret, {.kind = kind})));
    }
    for (const auto& data : dataset_folders()) {
      CAPTURE(data, static_cast<int>(kind));
      CHECK_FALSE(succeeded(attempt("read", data.string(), {.kind = kind})));
    }
    for (const char* device : {"/dev/null", "/dev/urandom", "/dev/random"}) {
      CAPTURE(device);
      CHECK(succeeded(attempt("read", device, {.kind = kind})));
    }
  }
}

TEST_CASE("sandbox: only three calls reach the channel, and no code is made at run time") {
  for (const SandboxKind kind : {SandboxKind::kCpu, SandboxKind::kEmulated, SandboxKind::kGpu}) {
    for (const long call :
         {SYS_read,     SYS_write,    SYS_readv,   SYS_writev,   SYS_pread64,  SYS_pwrite64,
          SYS_preadv,   SYS_pwritev,  SYS_preadv2, SYS_pwritev2, SYS_recvfrom, SYS_recvmmsg,
          SYS_sendmmsg, SYS_sendfile, SYS_splice,  SYS_tee,      SYS_vmsplice, SYS_dup,
          SYS_dup3,     SYS_fcntl,    SYS_ioctl,   SYS_close}) {
      CAPTURE(static_cast<int>(kind), call);
      CHECK(is_trapped(attempt("touch-channel", std::to_string(call) + ":0", {.kind = kind})));
    }
    for (const long call : {SYS_sendfile, SYS_tee, SYS_dup3}) {
      CHECK(is_trapped(attempt("touch-channel", std::to_string(call) + ":1", {.kind = kind})));
    }
    for (const long call : {SYS_splice, SYS_copy_file_range}) {
      CHECK(is_trapped(attempt("touch-channel", std::to_string(call) + ":2", {.kind = kind})));
    }
    CHECK(succeeded(attempt("write-code", "", {.kind = kind})) == (kind == SandboxKind::kGpu));
  }
}

TEST_CASE("sandbox: has /tmp to itself") {
  const std::string file = "/tmp/convlab-test-" + std::to_string(::getpid());
  CHECK(succeeded(attempt("write", file)));
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("sandbox: no program but the first is executed, by its loader neither") {
  for (const char* program : {"/usr/bin/id", "/bin/sh", "/lib64/ld-linux-x86-64.so.2"}) {
    CHECK(is_trapped(attempt("execute", program)));
    CHECK(is_trapped(attempt("execute-descriptor", program)));
  }
  CHECK(is_trapped(attempt("execute", ESCAPE_PROGRAM)));
  CHECK_FALSE(succeeded(attempt("execute", "/usr/bin/id", {.kind = SandboxKind::kGpu})));
}

TEST_CASE("sandbox: has no terminal and a session of its own") {
  CHECK(succeeded(attempt("own-session")));
  CHECK_FALSE(succeeded(attempt("write", "/dev/tty")));
}

TEST_CASE("sandbox: memory that no limit counts is not to be had on the CPU") {
  for (const char* name : {"memory-file", "shared-anonymous", "shared-zero", "system-v-memory"}) {
    CAPTURE(name);
    CHECK_FALSE(succeeded(attempt(name)));
  }
  CHECK(succeeded(attempt("private-memory")));
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

TEST_CASE("sandbox: shared memory is its own") {
  const std::string name = "/convlab-test-" + std::to_string(::getpid());
  CHECK(succeeded(attempt("shared-memory", name)));
  CHECK(::shm_unlink(name.c_str()) != 0);
  CHECK(errno == ENOENT);
}

TEST_CASE("sandbox: calls that no convolution makes end the program") {
  for (const char* name : {"fork", "vfork", "clone-vfork", "spawn", "trace", "network", "mount",
                           "unshare", "end-others"}) {
    CAPTURE(name);
    CHECK(is_trapped(attempt(name)));
  }
  CHECK(succeeded(attempt("thread")));
  CHECK(succeeded(attempt("signal-self")));
  for (const char* name : {"signal", "queue-signal", "thread-signal", "thread-queue-signal",
                           "descriptor-signal", "owner-signal"}) {
    for (const SandboxKind kind : {SandboxKind::kCpu, SandboxKind::kGpu, SandboxKind::kCompiler}) {
      CAPTURE(name, static_cast<int>(kind));
      CHECK_FALSE(succeeded(attempt(name, std::to_string(::getpid()), {.kind = kind})));
    }
  }
  CHECK(attempt("leave-group").code == EPERM);
}

TEST_CASE("sandbox: leaves what NVIDIA's driver needs to start, and no more of the kind") {
  const grader::SandboxPolicy gpu{.kind = SandboxKind::kGpu};
  CHECK(succeeded(attempt("name-thread", "", gpu)));
  CHECK(succeeded(attempt("own-local-socket", "", gpu)));
  CHECK_FALSE(succeeded(attempt("own-local-socket")));
  CHECK_FALSE(succeeded(attempt("own-datagram-socket", "", gpu)));
  CHECK_FALSE(succeeded(attempt("datagram-pair", "", gpu)));
  CHECK_FALSE(succeeded(attempt("write", "/proc/1/comm", gpu)));
  CHECK_FALSE(succeeded(attempt("write", "/proc/sys/kernel/core_pattern", gpu)));
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() / "helper";
  const Descriptor helper(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(helper.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(helper.get(), 1) == 0);
  CHECK(attempt("local-helper", file, gpu).code == ENOENT);
}

TEST_CASE("sandbox: without namespaces a program runs where somebody decided that") {
  REQUIRE(::setenv("CONVLAB_ISOLATION_WITHOUT", "namespaces", 1) == 0);
  const grader::Isolation isolation = grader::probe_isolation();
  const Ending own = attempt("own-file");
  ::unsetenv("CONVLAB_ISOLATION_WITHOUT");
  CHECK(succeeded(own));
  CHECK(isolation.namespaces == ECANCELED);
  CHECK(isolation.system_calls == 0);
}

TEST_CASE("sandbox: an emulated program does not read memory past its protection") {
  CHECK(succeeded(attempt("read-own-memory", "", {.kind = SandboxKind::kCpu})));
  for (const char* way : {"seek", "steps", "place"}) {
    CAPTURE(way);
    CHECK_FALSE(succeeded(attempt("read-own-memory", way, {.kind = SandboxKind::kEmulated})));
  }
}

TEST_CASE("sandbox: a compiler may work in several processes") {
  CHECK(succeeded(attempt("fork", "", {.kind = SandboxKind::kCompiler})));
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
      constexpr std::size_t kBytes = std::size_t{1} << 16;
      while (!done) {
        const auto memory = std::make_unique<char[]>(kBytes);
        if (FILE* file = std::fopen("/dev/null", "r")) std::fclose(file);
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
