// Tries one thing that a submission must not do: escape NAME [ARGUMENT]. Ends with 0 if it
// succeeds, otherwise with the errno.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

int outcome(bool done) {
  return done ? 0 : errno;
}

int write_to(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  return outcome(descriptor >= 0 && ::write(descriptor, "x", 1) == 1);
}

int fill(const std::string& file, long long bytes) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  static char block[1 << 20];
  ::signal(SIGXFSZ, SIG_IGN);
  for (long long written = 0; written < bytes; written += sizeof block) {
    if (::write(descriptor, block, sizeof block) != sizeof block) return errno;
  }
  return 0;
}

int connect_somewhere() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(80);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return outcome(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

// A socket without a file, as NVIDIA's driver makes one.
int own_local_socket() {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "escape-" + std::to_string(::getpid());
  std::strcpy(address.sun_path + 1, name.c_str());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return outcome(::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
}

int connect_locally(const std::string& file) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
  return outcome(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

// Descriptors beyond standard input, output, error and the channel.
int count_descriptors() {
  int count = 0;
  for (int each = 4; each < 1024; ++each) count += ::fcntl(each, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

int count_variables() {
  int count = 0;
  for (char** each = environ; *each != nullptr; ++each) ++count;
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string argument = argc > 2 ? argv[2] : "";
  const std::map<std::string, std::function<int()>> attempts = {
      {"write", [&] { return write_to(argument); }},
      {"read", [&] { return outcome(::open(argument.c_str(), O_RDONLY) >= 0); }},
      {"remove", [&] { return outcome(::unlink(argument.c_str()) == 0); }},
      {"execute",
       [&] { return ::execl(argument.c_str(), argument.c_str(), nullptr) == 0 ? 0 : errno; }},
      {"own-file", [] { return write_to("mine"); }},
      {"shared-memory",
       [&] { return outcome(::shm_open(argument.c_str(), O_RDWR | O_CREAT, 0600) >= 0); }},
      {"huge-file", [] { return fill("huge", 1LL << 30); }},
      {"fork", [] { return outcome(::fork() >= 0); }},
      {"end-others",
       [] { return outcome(::kill(::getppid() == 0 ? 1 : ::getppid(), SIGKILL) == 0); }},
      {"signal", [&] { return outcome(::kill(std::atoi(argument.c_str()), SIGKILL) == 0); }},
      {"trace", [] { return outcome(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0); }},
      {"network", connect_somewhere},
      {"own-local-socket", own_local_socket},
      {"local-helper", [&] { return connect_locally(argument); }},
      {"name-thread",
       [] { return write_to("/proc/self/task/" + std::to_string(::getpid()) + "/comm"); }},
      {"mount", [] { return outcome(::mount("none", "/", "tmpfs", 0, nullptr) == 0); }},
      {"unshare", [] { return outcome(::unshare(CLONE_NEWUSER) == 0); }},
      {"leave-group", [] { return outcome(::setsid() >= 0); }},
      {"descriptors", count_descriptors},
      {"variables", count_variables},
      {"processor",
       [] {
         for (volatile unsigned long turns = 0;;) turns = turns + 1;
         return 0;
       }},
  };
  const auto attempt = attempts.find(argv[1]);
  return attempt == attempts.end() ? 2 : attempt->second();
}
