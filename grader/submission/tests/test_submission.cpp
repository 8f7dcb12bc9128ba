#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/submission.hpp"

using namespace convlab;
using grader::Failure;
using grader::Submission;
using namespace std::chrono_literals;

namespace {

const ConvShape kShape{
    .batch = 3, .out_channels = 2, .in_channels = 2, .height = 9, .width = 8, .kernel = 3};

Submission open(const std::string& name,
                std::chrono::milliseconds limit = std::chrono::seconds(60)) {
  return Submission(std::filesystem::path(SUBMISSIONS) / name, limit);
}

/// One call at kShape.
grader::Call run(Submission& submission) {
  submission.prepare(kShape, grader::Placement::kAtEnd);
  return submission.run("baseline");
}

// Whether a look at the channel of a program and one at its end are some time apart, as on a busy
// machine.
bool poll_is_interrupted = false;

int look(pollfd* events, nfds_t count, int wait_ms) {
  const timespec wait{wait_ms / 1000, wait_ms % 1000 * 1'000'000L};
  return ::ppoll(events, count, wait_ms < 0 ? nullptr : &wait, nullptr);
}

}  // namespace

// In place of the C library's.
extern "C" int poll(pollfd* events, nfds_t count, int wait_ms) {
  if (!poll_is_interrupted || count != 3) return look(events, count, wait_ms);
  const int first = look(events, 1, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return first + look(events + 1, 2, 0);
}

TEST_CASE("submission: lists its stages and tells what its process has used") {
  Submission submission = open("plain_loops");
  std::vector<StageInfo> stages;
  REQUIRE_FALSE(submission.list_stages(stages));
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].id == "baseline");
  CHECK(submission.usage().peak_memory_mib > 0.1);
  CHECK(submission.usage().elapsed_s > 0.0);
}

TEST_CASE("submission: a crash is told with its place, also if its end is seen first") {
  Submission submission = open("null_pointer");
  for (const bool is_interrupted : {true, false}) {  // the second call starts it again
    poll_is_interrupted = is_interrupted;
    const grader::Call call = run(submission);
    poll_is_interrupted = false;
    REQUIRE(call.failure);
    CHECK(call.failure->kind == Failure::Kind::kCrash);
    REQUIRE(call.failure->fault);
    CHECK(call.failure->fault->kind == FaultKind::kNull);
  }
}

TEST_CASE("submission: many files have one time for all of them") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "never-compiled.cpp";
  write_atomically(file, "int of_" + std::to_string(::getpid()) + ";\n");
  const auto build = std::filesystem::path(SUBMISSIONS).parent_path().parent_path();
  auto late = grader::only(file);
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto built = grader::build_submission(late, {.build = build});
  REQUIRE(built.problem);
  CHECK(built.problem->kind == grader::BuildProblem::Kind::kTakesTooLong);
}

TEST_CASE("submission: nothing is left behind, even if the grader is killed while it runs") {
  const testing::TemporaryFolder folder;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  {
    Submission submission = open("plain_loops");
    CHECK_FALSE(run(submission).failure);
    if (submission.isolation().namespaces == 0) CHECK(std::filesystem::is_empty(folder.path()));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  ::unsetenv("TMPDIR");
}

TEST_CASE("submission: its environment does not tell how it is observed") {
  for (const char* told : {"CONVLAB_EMU_TRACE=races", "CONVLAB_MATMUL_FACTOR=2", "CONVLAB_NEW=1"}) {
    Submission submission(std::filesystem::path(SUBMISSIONS) / "convlab_shows_environment", 60s,
                          {told});
    std::vector<StageInfo> stages;
    const auto failure = submission.list_stages(stages);
    REQUIRE(failure);
    CHECK(failure->printed.find("PATH=") != std::string::npos);
    CHECK(failure->printed.find("CONVLAB_") == std::string::npos);
  }
}

TEST_CASE("submission: a limit that somebody names is ten times as long where it is observed") {
  CHECK(Submission("none", 2s).time_limit() == 2s);
  Submission observed("none", 2s, {"CONVLAB_EMU_TRACE=races"});
  observed.set(&Submission::Settings::patience, 4.0);
  CHECK(observed.time_limit() == 20s);
}

TEST_CASE("submission: who launches a kernel for each image has time for each") {
  Submission many("none");
  many.set_device({.device = Device::kEmulated});
  many.prepare({.batch = 4097}, grader::Placement::kAtEnd);
  CHECK(many.time_limit() >= 36s);
}

TEST_CASE("submission: one that is slow, and right, has more time from then on") {
  const ConvShape shape{
      .batch = 16, .out_channels = 8, .in_channels = 8, .height = 40, .width = 40, .kernel = 7};
  Submission slow(std::filesystem::path(SUBMISSIONS) / "plain_loops");
  slow.prepare(shape, grader::Placement::kAtEnd);
  const auto usual = slow.time_limit();
  double limit = 0.0;
  grader::Call ended;
  // A machine may slow down between two calls, and a call that was ended needs a new process.
  for (int i = 0; i < 20 && limit == 0.0; ++i) {
    slow.set(&Submission::Settings::patience, 1.0);
    const grader::Call first = slow.run("baseline");
    REQUIRE_FALSE(first.failure);
    CHECK(slow.time_limit() == usual);
    // Limits for a machine that is far faster: the same call needs about half of its time there.
    slow.set(&Submission::Settings::patience,
             2.0 * first.round_trip_ms / static_cast<double>(usual.count()));
    const auto tried = slow.time_limit();
    ended = slow.run("baseline");
    if (!ended.failure)
      limit = static_cast<double>(tried.count());
    else
      CHECK(slow.time_limit() == tried);  // what ends too late proves no pace
  }
  REQUIRE_FALSE(ended.failure);
  const double given = std::clamp(2.5 * ended.round_trip_ms / limit, 1.0, 4.0);
  CHECK(static_cast<double>(slow.time_limit().count()) == Approx(given * limit).margin(1.0));
}
