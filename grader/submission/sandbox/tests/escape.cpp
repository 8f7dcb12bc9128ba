// Tries one thing that a submission must not do: escape NAME [ARGUMENT]. Ends with 0 if it could,
// with the errno otherwise.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
#include <thread>
#include <vector>

#include "common/base/descriptor.hpp"

namespace {

using convlab::kServeDescriptor;

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

// Memory files and private memory.
int take_memory() {
  const int file = static_cast<int>(::syscall(SYS_memfd_create, "x", 0));
  ::signal(SIGXFSZ, SIG_IGN);
  static char block[1 << 20];
  for (int i = 0; i < 60; ++i) {  // below the limit of one file
    if (::write(file, block, sizeof block) < 0) return errno;
  }
  std::vector<char> more(std::size_t{200} << 20, 'x');
  asm volatile("" : : "r"(more.data()) : "memory");  // clang would leave the vector out
  ::sleep(15);
  return more.back() == 'x' ? 0 : 1;
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

int map(int flags, int file) {
  return outcome(::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, flags, file, 0) != MAP_FAILED);
}

int queue(long call, int process) {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_signo = SIGCONT;
  if (call == SYS_rt_sigqueueinfo) return outcome(::syscall(call, process, SIGCONT, &info) == 0);
  return outcome(::syscall(call, process, process, SIGCONT, &info) == 0);
}

// Descriptors beyond standard input, output, error and the channel, which only its own calls reach.
int count_descriptors() {
  int count = 0;
  for (int each = 3; each < 1024; ++each)
    count += each != kServeDescriptor && ::fcntl(each, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

int count_variables() {
  int count = 0;
  for (char** each = environ; *each != nullptr; ++each) ++count;
  return count;
}

// Reads memory that is protected, through the file that shows all memory of a process.
int read_own_memory(const std::string& way) {
  void* const memory =
      ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const auto place = reinterpret_cast<std::uintptr_t>(memory);
  const int file = ::open("/proc/self/mem", O_RDONLY);
  char byte = 1;
  if (way == "seek") {
    ::lseek(file, static_cast<off_t>(place), SEEK_SET);
    return outcome(::read(file, &byte, 1) == 1);
  }
  if (way == "steps") {
    constexpr off_t kStep = 0x7fff'0000;
    ::lseek(file, kStep, SEEK_SET);
    for (off_t at = 2 * kStep; at < static_cast<off_t>(place); at += kStep) {
      ::lseek(file, kStep, SEEK_CUR);
    }
    ::lseek(file, static_cast<off_t>(place) % kStep, SEEK_CUR);
    return outcome(::read(file, &byte, 1) == 1);
  }
  return outcome(::pread(file, &byte, 1, static_cast<off_t>(place)) == 1);
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
      {"read-own-memory", [&] { return read_own_memory(argument); }},
      {"own-file", [] { return write_to("mine"); }},
      {"shared-memory",
       [&] { return outcome(::shm_open(argument.c_str(), O_RDWR | O_CREAT, 0600) >= 0); }},
      {"huge-file", [] { return fill("huge", 1LL << 30); }},
      {"fork", [] { return outcome(::fork() >= 0); }},
      {"vfork",
       [] {
         const pid_t process = ::vfork();
         if (process == 0) ::_exit(0);
         return outcome(process >= 0);
       }},
      {"clone-vfork",
       [] { return outcome(::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) >= 0); }},
      {"spawn",
       [] {
         char name[] = "/bin/true";
         char* words[] = {name, nullptr};
         const int error = ::posix_spawn(nullptr, name, nullptr, nullptr, words, environ);
         return error;
       }},
      {"thread",
       [] {
         std::thread([] {}).join();
         return 0;
       }},
      {"execute-descriptor",
       [&] {
         const int file = ::open(argument.c_str(), O_RDONLY);
         char* words[] = {argv[0], nullptr};
         ::syscall(SYS_execveat, file, "", words, environ, AT_EMPTY_PATH);
         return errno;
       }},
      {"own-session",
       [] { return ::open("/dev/tty", O_RDWR) < 0 && ::getsid(0) != ::getpid() ? 0 : 1; }},
      {"signal-self", [] { return outcome(::raise(SIGCONT) == 0); }},
      {"queue-signal", [&] { return queue(SYS_rt_sigqueueinfo, std::atoi(argument.c_str())); }},
      {"thread-queue-signal",
       [&] { return queue(SYS_rt_tgsigqueueinfo, std::atoi(argument.c_str())); }},
      {"thread-signal",
       [&] { return outcome(::syscall(SYS_tkill, std::atoi(argument.c_str()), SIGCONT) == 0); }},
      {"descriptor-signal",
       [&] {
         const long process = ::syscall(434 /* pidfd_open */, std::atoi(argument.c_str()), 0);
         return outcome(::syscall(424 /* pidfd_send_signal */, process, SIGCONT, nullptr, 0) == 0);
       }},
      {"owner-signal",
       [&] { return outcome(::fcntl(1, F_SETOWN, std::atoi(argument.c_str())) == 0); }},
      {"memory-file", [] { return outcome(::syscall(SYS_memfd_create, "x", 0) >= 0); }},
      {"shared-anonymous", [] { return map(MAP_SHARED | MAP_ANONYMOUS, -1); }},
      {"shared-zero", [] { return map(MAP_SHARED, ::open("/dev/zero", O_RDWR)); }},
      {"private-memory", [] { return map(MAP_PRIVATE | MAP_ANONYMOUS, -1); }},
      {"system-v-memory",
       [] { return outcome(::syscall(SYS_shmget, IPC_PRIVATE, 1 << 20, 0600) >= 0); }},
      {"take-memory", take_memory},
      {"take-memory-in-second-thread",
       [] {
         std::thread([] { take_memory(); }).detach();
         return static_cast<int>(::syscall(SYS_exit, 0));  // of the first thread only
       }},
      {"ended-first",
       [] {
         FILE* file = std::fopen("/proc/self/oom_score_adj", "r");
         int score = 0;
         return file != nullptr && std::fscanf(file, "%d", &score) == 1 && score == 1000 ? 0 : 1;
       }},
      {"print-escape",
       [] {
         std::puts("\x1b[2J\x1b[32mPASSED");
         return 0;
       }},
      {"own-datagram-socket", [] { return outcome(::socket(AF_UNIX, SOCK_DGRAM, 0) >= 0); }},
      {"datagram-pair",
       [] {
         int pair[2];
         return outcome(::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
       }},
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
      {"touch-channel",  // by call NUMBER:POSITION of the descriptor among the arguments
       [&] {
         long arguments[6] = {};
         arguments[std::atoi(argument.c_str() + argument.find(':') + 1)] = kServeDescriptor;
         return outcome(::syscall(std::atol(argument.c_str()), arguments[0], arguments[1],
                                  arguments[2], arguments[3], arguments[4], arguments[5]) >= 0);
       }},
      {"write-code",
       [] {
         return outcome(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
       }},
      {"variables", count_variables},
      {"waits", [] { return ::pause(); }},
      {"processor",
       [] {
         for (volatile unsigned long turns = 0;;) turns = turns + 1;
         return 0;
       }},
  };
  const auto attempt = attempts.find(argv[1]);
  return attempt == attempts.end() ? 2 : attempt->second();
}
