#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "common/base/run_process.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"

using namespace convlab;
using End = FinishedProcess::End;
using Output = Command::Output;

TEST_CASE("run_process: words reach the program as they are") {
  const FinishedProcess echo = run_process({.words = {"printf", "%s|", "a b", "'$HOME'", "", "c"}});
  CHECK(echo.succeeded());
  CHECK(echo.output == "a b|'$HOME'||c|");
  CHECK(echo.errors.empty());
}

TEST_CASE("run_process: output and errors come apart or together") {
  const std::vector<std::string> both = {"sh", "-c", "echo out; echo err >&2; exit 3"};
  const FinishedProcess apart = run_process({.words = both});
  CHECK(apart.output == "out\n");
  CHECK(apart.errors == "err\n");
  CHECK(apart.exit_code == 3);
  CHECK_FALSE(apart.succeeded());
  const FinishedProcess together = run_process({.words = both, .output = Output::kTogether});
  CHECK(together.output == "out\nerr\n");
}

TEST_CASE("run_process: folder and variables are given, and neither input nor descriptors") {
  const testing::TemporaryFolder folder;
  CHECK(run_process({.words = {"sh", "-c", "test -e /proc/$$/fd/3"}}).exit_code == 1);
  CHECK(run_process({.words = {"cat"}}).output.empty());
  CHECK(trimmed_end(run_process({.words = {"pwd"}, .folder = folder.path()}).output) ==
        folder.path().string());
  CHECK(run_process({.words = {"sh", "-c", "echo $PATH:$ADDED"},
                     .environment = {"ADDED=yes", "PATH=/usr/bin:/bin"}})
            .output == "/usr/bin:/bin:yes\n");
}

TEST_CASE("run_process: says how a program ended") {
  CHECK(run_process({.words = {"convlab-has-no-such-program"}}).exit_code == kNoSuchProgram);
  CHECK(run_process({.words = {"sh", "-c", "kill -SEGV $$"}}).exit_code == 128 + SIGSEGV);
  const FinishedProcess slow =
      run_process({.words = {"sleep", "100"}, .time_limit = std::chrono::milliseconds(100)});
  CHECK(slow.end == End::kTimeLimit);
  const FinishedProcess flood = run_process({.words = {"yes"}, .output_limit = 1000});
  CHECK(flood.end == End::kOutputLimit);
  const FinishedProcess stopped =
      run_process({.words = {"sleep", "100"}, .interrupted = [] { return true; }});
  CHECK(stopped.end == End::kInterrupted);
}

TEST_CASE("run_process: what a program left in its group ends at the limit, too") {
  const FinishedProcess run = run_process({.words = {"sh", "-c", "sleep 100 & echo $!; wait"},
                                           .time_limit = std::chrono::milliseconds(300)});
  CHECK(run.end == End::kTimeLimit);
  const pid_t left = std::stoi(run.output);
  // It is gone, or a zombie that nobody has collected; a signal needs a moment to arrive.
  const auto state = [left] {
    std::ifstream status("/proc/" + std::to_string(left) + "/stat");
    std::string number;
    std::string name;
    std::string letter = "Z";
    status >> number >> name >> letter;
    return letter;
  };
  for (int tries = 0; tries < 500 && state() != "Z"; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(state() == "Z");
}
