#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/mapped_segment.hpp"
#include "common/serve/serve.hpp"
#include "common/stage/cpu_stage.hpp"

using namespace convlab;

namespace {

// Of processor time; a process that only waits gets three times as long.
constexpr double kLimitS = 0.5;

const ConvShape kShape{.batch = 2, .out_channels = 3, .height = 4, .width = 4, .kernel = 2};

// Writes its index to every output element, to show that the arrays arrive and come back.
void count_up(const ConvShape& shape, const float* input, const float* weights, float* output) {
  for (int i = 0; i < shape.output_size(); ++i)
    output[i] = static_cast<float>(i) + input[0] * weights[0];
}
void never_ends(const ConvShape&, const float*, const float*, float*) {
  for (volatile bool always = true; always;) {
  }
}
void waits(const ConvShape& shape, const float*, const float*, float* output) {
  std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(1000 * kLimitS)) +
                              std::chrono::milliseconds(100));
  output[0] = static_cast<float>(shape.batch);
}
void lets_others_work(const ConvShape& shape, const float*, const float*, float* output) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(static_cast<int>(1500 * kLimitS));
  const auto work = [end] {
    while (Clock::now() < end) {
    }
  };
  const std::jthread first(work);
  const std::jthread second(work);
  output[0] = static_cast<float>(shape.batch);
}
void waits_for_ever(const ConvShape&, const float*, const float*, float*) {
  for (;;) ::pause();
}

const CpuStage kCountUp({.id = "count-up", .title = "Counts", .order = 1}, count_up);
const CpuStage kNeverEnds({.id = "never-ends", .order = 6}, never_ends);
const CpuStage kWaits({.id = "waits", .order = 7}, waits);
const CpuStage kWaitsForEver({.id = "waits-for-ever", .order = 8}, waits_for_ever);
const CpuStage kLetsOthersWork({.id = "lets-others-work", .order = 9}, lets_others_work);

/// A forked process that serves, and the grader's end of its channel.
class Server {
 public:
  Server() {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) != 0) throw std::bad_alloc();
    process_ = ::fork();
    if (process_ == 0) {
      ::close(sockets[0]);
      ::_exit(static_cast<int>(serve(sockets[1])));
    }
    ::close(sockets[1]);
    channel_ = Descriptor(sockets[0]);
    for (Descriptor& segment : segments_) {
      segment = Descriptor(::memfd_create("segment", 0));
      if (::ftruncate(segment.get(), 4096) != 0) throw std::bad_alloc();
    }
    const std::array<float, 2> values = {2.0F, 0.25F};
    for (int i : {0, 1}) {
      if (::pwrite(segments_[i].get(), &values[i], sizeof(float), 0) < 0) throw std::bad_alloc();
    }
  }
  ~Server() {
    channel_.close();
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
  }

  std::optional<ServeReply> ask(const ServeRequest& request, bool with_segments = true) {
    std::vector<int> descriptors;
    for (const Descriptor& segment : segments_) {
      if (with_segments) descriptors.push_back(segment.get());
    }
    if (!send_message(channel_.get(), encode(request), descriptors)) return std::nullopt;
    const auto message = receive_message(channel_.get());
    return message ? decode<ServeReply>(message->text) : std::nullopt;
  }

  float output(int index) const {
    float value = 0;
    const auto place = static_cast<off_t>(sizeof value) * index;
    if (::pread(segments_[2].get(), &value, sizeof value, place) < 0) throw std::bad_alloc();
    return value;
  }

  int channel() const { return channel_.get(); }

  int wait() {
    channel_.close();
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
  Descriptor channel_;
  std::array<Descriptor, 3> segments_;
};

}  // namespace

TEST_CASE("serve: lists the stages, runs one, and ends when the channel closes") {
  Server server;
  const auto list = server.ask({.token = 7, .stage = {}, .shape = {}}, false);
  REQUIRE(list);
  CHECK(list->token == 7);
  REQUIRE(list->stages.size() == 5);
  CHECK(list->stages[0].id == "count-up");
  CHECK(list->stages[0].title == "Counts");

  for (bool with_segments : {true, false}) {
    const auto reply =
        server.ask({.token = 8, .stage = "count-up", .shape = kShape}, with_segments);
    REQUIRE(reply);
    CHECK(reply->status == ServeStatus::kDone);
    CHECK(reply->op_ms > 0.0);
    CHECK(reply->layer_ms >= reply->op_ms);
    CHECK(server.output(53) == 53.5F);
    // It tells how the output was when the stage returned.
    std::vector<float> output;
    for (int i = 0; i < kShape.output_size(); ++i) output.push_back(server.output(i));
    CHECK(reply->mark == mark_of(output.data(), kShape.output_size()));
    output.back() = 0.0F;
    CHECK(reply->mark != mark_of(output.data(), kShape.output_size()));
  }
  const int status = server.wait();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("serve: who asks for it is told of the phases before the reply") {
  Server server;
  auto told =
      server.ask({.token = 8, .stage = "count-up", .shape = kShape, .tells_phases = true}, true);
  for (const bool is_end : {false, false, true}) {
    REQUIRE(told);
    CHECK(told->status == ServeStatus::kPaused);
    CHECK(told->token == 8);
    CHECK((server.output(53) == 53.5F) == is_end);
    REQUIRE(send_message(server.channel(), ""));
    if (is_end) break;
    const auto next = receive_message(server.channel());
    REQUIRE(next);
    told = decode<ServeReply>(next->text);
  }
  const auto message = receive_message(server.channel());
  REQUIRE(message);
  const auto reply = decode<ServeReply>(message->text);
  REQUIRE(reply);
  CHECK(reply->status == ServeStatus::kDone);
}

TEST_CASE("serve: arrays that do not fit are refused, whatever is asked") {
  Server server;
  ConvShape large = kShape;
  large.height = 100;
  CHECK(server.ask({.stage = "count-up", .shape = large})->status == ServeStatus::kRefused);
  CHECK(server.ask({.stage = "count-up", .shape = kShape, .output_offset = 1 << 20})->status ==
        ServeStatus::kRefused);
  CHECK(server.ask({.stage = "count-up", .shape = kShape, .input_offset = 2})->status ==
        ServeStatus::kRefused);
  REQUIRE(send_message(server.channel(), "no JSON"));
  const int status = server.wait();
  CHECK(WEXITSTATUS(status) == 2);
}

TEST_CASE("serve: a loop without an end is ended, and so is who waits for ever") {
  for (const char* stage : {"never-ends", "waits-for-ever"}) {
    CAPTURE(stage);
    Server server;
    const auto reply =
        server.ask({.token = 5, .stage = stage, .shape = kShape, .kernel_limit_s = kLimitS});
    REQUIRE(reply);
    CHECK(reply->status == ServeStatus::kCrash);
    REQUIRE(reply->fault);
    CHECK(reply->fault->kind == FaultKind::kKernelTime);
    CHECK(WTERMSIG(server.wait()) == SIGALRM);
  }
}

TEST_CASE("serve: the limit is processor time of the calling thread") {
  // It may wait longer than the limit, and other threads may use more than the limit.
  for (const char* stage : {"waits", "lets-others-work"}) {
    CAPTURE(stage);
    Server server;
    const auto reply =
        server.ask({.token = 6, .stage = stage, .shape = kShape, .kernel_limit_s = kLimitS});
    REQUIRE(reply);
    CHECK(reply->status == ServeStatus::kDone);
    CHECK(server.output(0) == 2.0F);
    // The next request has no time left of the limit.
    const auto next = server.ask({.token = 7, .stage = "count-up", .shape = kShape}, false);
    REQUIRE(next);
    CHECK(next->status == ServeStatus::kDone);
  }
}

TEST_CASE("serve: a reply carries what was measured on the device, and a sample") {
  ServeReply reply{.token = 7, .status = ServeStatus::kException, .device = Device::kGpu};
  reply.measured = MeasuredDevice{.start_up_ms = 300, .empty_launch_ms = 0.005};
  reply.measured->info.runtime = "12.4";
  reply.measured->info.capability = {9, 0};
  reply.measured->limits.bytes_per_second = 4.29e12;
  reply.sample = {.host_ms = 2.5, .event_ms = 2.25};
  const std::optional<ServeReply> received = decode<ServeReply>(encode(reply));
  REQUIRE(received);
  CHECK(encode(*received) == encode(reply));
  REQUIRE(received->measured);
  CHECK(received->measured->info.capability == ComputeCapability{9, 0});
  CHECK_FALSE(decode<ServeReply>(encode(ServeReply{.token = 8}))->measured);
}

TEST_CASE("serve: an array whose pages are the process's own gets the grader's later numbers") {
  const int file = ::memfd_create("array", 0);
  constexpr std::size_t kBytes = 10'000;
  REQUIRE(::ftruncate(file, kBytes) == 0);
  auto* const grader =
      static_cast<float*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  grader[1] = 1.0F;
  MappedSegment segment;
  segment.map(file, MappedSegment::kRead);
  auto* const own = reinterpret_cast<float*>(segment.data());
  segment.own_pages();
  segment.own_pages();  // nothing more
  CHECK(reinterpret_cast<float*>(segment.data()) == own);
  CHECK(own[1] == 1.0F);
  own[0] = 5.0F;  // can be written, and the grader keeps its number
  CHECK(grader[0] == 0.0F);
  grader[1] = 2.0F;
  CHECK(own[1] == 1.0F);
  segment.take_new();
  CHECK(own[0] == 0.0F);
  CHECK(own[1] == 2.0F);
  segment.map(file, MappedSegment::kRead);
  grader[1] = 3.0F;
  CHECK(reinterpret_cast<float*>(segment.data())[1] == 3.0F);
  ::munmap(grader, kBytes);
  ::close(file);
}
