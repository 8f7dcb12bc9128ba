#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "common/testing/catch.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/sandbox/child_process.hpp"
#include "grader/sandbox/isolation.hpp"

using namespace convlab;
using grader::ChildProcess;
using grader::Ending;
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

TEST_CASE("sandbox: says what the kernel grants") {
  const grader::Isolation isolation = grader::probe_isolation();
  const std::string text = grader::describe(isolation);
  INFO(text);
  CHECK(text.rfind("isolation: ", 0) == 0);
  CHECK(text.find("limits") != std::string::npos);
  CHECK((text.find("not on this machine") == std::string::npos) ==
        grader::missing_parts(isolation).empty());
}

TEST_CASE("sandbox: a program has its folder, its channel and little more") {
  CHECK(succeeded(attempt("own-file")));
  CHECK(succeeded(attempt("descriptors")));
  REQUIRE(::setenv("CONVLAB_TEST_SECRET", "seed", 1) == 0);
  CHECK(attempt("variables").code < 12);
  ::unsetenv("CONVLAB_TEST_SECRET");
}

TEST_CASE("sandbox: files of others stay as they are, and unread") {
  if (grader::probe_isolation().files != 0) return;
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() / "precious";
  std::ofstream(file) << "labels";
  CHECK_FALSE(succeeded(attempt("remove", file)));
  CHECK_FALSE(succeeded(attempt("write", file)));
  CHECK_FALSE(succeeded(attempt("write", (folder.path() / "new").string())));
  CHECK_FALSE(succeeded(attempt("read", file)));
  CHECK(std::filesystem::file_size(file) == 6);
  CHECK(succeeded(attempt("read", file, {.readable = {folder.path()}})));
  CHECK_FALSE(succeeded(attempt("execute", "/usr/bin/id")));
  CHECK(succeeded(attempt("read", "/etc/passwd")));
}

TEST_CASE("sandbox: shared memory is its own") {
  const grader::Isolation isolation = grader::probe_isolation();
  if (isolation.own_disk != 0 || isolation.files != 0) return;
  const std::string name = "/convlab-test-" + std::to_string(::getpid());
  CHECK(succeeded(attempt("shared-memory", name)));
  CHECK(::shm_unlink(name.c_str()) != 0);
  CHECK(errno == ENOENT);
}

TEST_CASE("sandbox: calls that no convolution makes end the program") {
  if (grader::probe_isolation().system_calls != 0) return;
  for (const char* name : {"fork", "trace", "network", "mount", "unshare", "end-others"}) {
    CAPTURE(name);
    CHECK(is_trapped(attempt(name)));
  }
  CHECK_FALSE(succeeded(attempt("signal", std::to_string(::getpid()))));
  CHECK(attempt("leave-group").code == EPERM);
}

TEST_CASE("sandbox: leaves what NVIDIA's driver needs to start, and no more of the kind") {
  CHECK(succeeded(attempt("name-thread")));
  CHECK(succeeded(attempt("own-local-socket")));
  if (grader::probe_isolation().files == 0) {
    CHECK_FALSE(succeeded(attempt("write", "/proc/1/comm")));
    CHECK_FALSE(succeeded(attempt("write", "/proc/sys/kernel/core_pattern")));
  }
  if (grader::probe_isolation().system_calls != 0) return;
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() / "helper";
  const Descriptor helper(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(helper.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(helper.get(), 1) == 0);
  CHECK(attempt("local-helper", file).code == ENOENT);
}

TEST_CASE("sandbox: without a /proc of its own the driver still finds itself, and nobody else") {
  REQUIRE(::setenv("CONVLAB_ISOLATION_WITHOUT", "proc", 1) == 0);
  const grader::Isolation isolation = grader::probe_isolation();
  const Ending named = attempt("name-thread");
  const Ending read = attempt("read", "/proc/" + std::to_string(::getpid()) + "/cmdline");
  const Ending looked = attempt("read", "/proc/meminfo");
  ::unsetenv("CONVLAB_ISOLATION_WITHOUT");
  CHECK(succeeded(named));
  CHECK(succeeded(looked));
  if (isolation.files == 0) CHECK_FALSE(succeeded(read));
  if (isolation.namespaces == 0) CHECK(isolation.own_proc == ECANCELED);
  CHECK(isolation.namespaces == grader::probe_isolation().namespaces);
}

TEST_CASE("sandbox: a compiler may work in several processes") {
  CHECK(succeeded(attempt("fork", "", {.may_fork = true})));
}

TEST_CASE("sandbox: processor and files are limited") {
  const Ending busy = attempt("processor", "", {.cpu_seconds = 1});
  CHECK(busy.kind == Ending::Kind::kSignal);
  CHECK((busy.code == SIGXCPU || busy.code == SIGKILL));
  const int error = attempt("huge-file").code;
  CHECK((error == EFBIG || error == ENOSPC));
}

TEST_CASE("sandbox: a program that does not exist is told apart from one that fails") {
  ChildProcess process("/nonexistent/program", {}, {});
  const Ending ending = process.wait(seconds(10));
  CHECK(ending.kind == Ending::Kind::kNoStart);
  CHECK(ending.code == ENOENT);
}
