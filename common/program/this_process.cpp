#include "common/program/this_process.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <initializer_list>

#include "common/base/error.hpp"

namespace convlab {

namespace {

std::atomic<const char*> crash_place{"at the start"};

// Only calls that are safe inside a signal handler.
void write_text(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

void explain(int signal) {
  write_text("\nThe program crashed ");
  write_text(crash_place.load());
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      write_text(
          ": it accessed memory outside of its arrays (segmentation fault).\n"
          "Usually an index is outside its array: check the bounds of your loops against\n"
          "H, W, H_out and W_out. The sanitize build names the line:\n"
          "  cmake --preset sanitize && cmake --build --preset sanitize\n");
      break;
    case SIGFPE:
      write_text(": an integer was divided by zero. Check every '/' and '%'.\n");
      break;
    default:
      write_text(": it was aborted. The lines above say why.\n");
      break;
  }
  // The handler works once, so this signal takes the default action.
  raise(signal);
}

const std::filesystem::path kSelf = "/proc/self/exe";

std::filesystem::path sibling(const std::string& name) {
  return std::filesystem::read_symlink(kSelf).parent_path() / name;
}

}  // namespace

void explain_crashes() {
  // A separate stack, because a stack overflow is one of the crashes. The emulated device uses it
  // for its report, too.
  static char stack[65536];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = explain;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

void set_crash_place(const char* place) {
  crash_place.store(place);
}

std::string program_name(const std::string& milestone, const std::string& solution, Device device) {
  return milestone + (solution == "reference" ? "-reference" : "") +
         (device == Device::kEmulated ? "-emulated" : "");
}

bool has_program(const std::string& name) {
  const std::filesystem::path program = sibling(name);
  return std::filesystem::exists(program) && !std::filesystem::equivalent(program, kSelf);
}

void become_program(const std::string& name, char** argv) {
  const std::filesystem::path program = sibling(name);
  execv(program.c_str(), argv);
  const std::string command = "cmake --build --preset lab --target " + name;
  throw EnvironmentError("There is no program " + program.string() + "; " +
                         (name.find("-reference") == std::string::npos
                              ? "to build it: " + command + "."
                              : "a hand-out has no reference solutions, a full checkout builds "
                                "them (" +
                                    command + ")."));
}

std::vector<char*> arguments_without(char** argv, const std::string& option) {
  std::vector<char*> arguments;
  for (; *argv != nullptr; ++argv) {
    if (*argv == option && argv[1] != nullptr) {
      ++argv;  // and its value
    } else if (!std::string(*argv).starts_with(option + "=")) {
      arguments.push_back(*argv);
    }
  }
  arguments.push_back(nullptr);
  return arguments;
}

void become_slurm_job(const std::string& name, char** argv) {
  std::string grader = "grader";
  std::string job = "job";
  std::string program = sibling(name).string();
  std::vector<char*> words = arguments_without(argv, "--launcher");
  words.front() = program.data();
  words.insert(words.begin(), {grader.data(), job.data()});
  become_program(grader, words.data());
}

}  // namespace convlab
