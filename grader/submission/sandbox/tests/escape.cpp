// Tries one thing that a submission must not do: escape NAME [ARGUMENT…]. Ends with 0 if it could,
// with the errno otherwise.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/descriptor.hpp"

namespace {

int outcome(bool done) {
  return done ? 0 : errno;
}

int fill(int file, int mebibytes) {
  static char block[1 << 20];
  ::signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < mebibytes; ++i) {
    if (::write(file, block, sizeof block) != sizeof block) return errno;
  }
  return 0;
}

// Memory files, below the limit of one file, and private memory.
int take_memory() {
  if (const int error = fill(static_cast<int>(::syscall(SYS_memfd_create, "x", 0)), 60)) {
    return error;
  }
  std::vector<char> more(std::size_t{200} << 20, 'x');
  asm volatile("" : : "r"(more.data()) : "memory");  // clang would leave the vector out
  ::sleep(15);
  return more.back() == 'x' ? 0 : 1;
}

// Descriptors beyond standard input, output, error and the channel, which only its own calls reach.
int count_descriptors() {
  int count = 0;
  for (int each = 3; each < 1024; ++each) {
    count += each != convlab::kServeDescriptor && ::fcntl(each, F_GETFD) >= 0 ? 1 : 0;
  }
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
  const auto place = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory));
  const int file = ::open("/proc/self/mem", O_RDONLY);
  char byte = 1;
  if (way == "place") return outcome(::pread(file, &byte, 1, place) == 1);
  constexpr off_t kStep = 0x7fff'0000;
  ::lseek(file, way == "seek" ? place : kStep, SEEK_SET);
  for (off_t at = 2 * kStep; way == "steps" && at < place; at += kStep) {
    ::lseek(file, kStep, SEEK_CUR);
  }
  if (way == "steps") ::lseek(file, place % kStep, SEEK_CUR);
  return outcome(::read(file, &byte, 1) == 1);
}

// NUMBER ARGUMENT…
int call(const std::vector<std::string>& words) {
  std::array<long, 7> numbers{};
  for (std::size_t i = 0; i < words.size(); ++i) numbers[i] = std::atol(words[i].c_str());
  const auto [number, a, b, c, d, e, f] = numbers;
  return outcome(::syscall(number, a, b, c, d, e, f) >= 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::vector<std::string> words(argv + 2, argv + argc);
  const std::string argument = words.empty() ? "" : words[0];
  const char* const path = argument.c_str();
  const std::map<std::string, std::function<int()>> attempts = {
      {"call", [&] { return call(words); }},
      {"write",
       [&] {
         const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
         return outcome(file >= 0 && ::write(file, "x", 1) == 1);
       }},
      {"read", [&] { return outcome(::open(path, O_RDONLY) >= 0); }},
      {"remove", [&] { return outcome(::unlink(path) == 0); }},
      {"execute", [&] { return outcome(::execl(path, path, nullptr) == 0); }},
      {"execute-descriptor",
       [&] {
         char* none[] = {argv[0], nullptr};
         ::syscall(SYS_execveat, ::open(path, O_RDONLY), "", none, environ, AT_EMPTY_PATH);
         return errno;
       }},
      {"read-own-memory", [&] { return read_own_memory(argument); }},
      {"huge-file", [] { return fill(::open("huge", O_WRONLY | O_CREAT, 0600), 1024); }},
      {"thread",
       [] {
         std::thread([] {}).join();
         return 0;
       }},
      {"own-session",
       [] { return ::open("/dev/tty", O_RDWR) < 0 && ::getsid(0) != ::getpid() ? 0 : 1; }},
      {"signal-self", [] { return outcome(::raise(SIGCONT) == 0); }},
      {"take-memory", take_memory},
      {"take-memory-in-second-thread",
       [] {
         std::thread([] { take_memory(); }).detach();
         return static_cast<int>(::syscall(SYS_exit, 0));  // of the first thread only
       }},
      {"ended-first",
       [] {
         int score = 0;
         std::ifstream("/proc/self/oom_score_adj") >> score;
         return score == 1000 ? 0 : 1;
       }},
      {"print-escape", [] { return std::puts("\x1b[2J\x1b[32mPASSED") < 0 ? 1 : 0; }},
      {"descriptors", count_descriptors},
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
