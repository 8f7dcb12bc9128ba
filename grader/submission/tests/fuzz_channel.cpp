// Damaged messages for both ends of the channel between the grader and a submission.
//
//     build/ci/tests/fuzz_channel                  a hundred, as a test
//     build/ci/tests/fuzz_channel --seconds 600    for ten minutes
//
// Each input goes three ways: through the decoders; to a process that serves, which must answer or
// exit with an exit code, and never end by a signal; and, each fiftieth time, a hostile program
// in its sandbox answers the grader, which must call it a failure or a call, and never throw.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "common/base/descriptor.hpp"
#include "common/base/tests/support/mutation_fuzz.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/serve.hpp"
#include "common/stage/cpu_stage.hpp"
#include "grader/submission/submission.hpp"

using namespace convlab;
using testing::Mutator;

namespace {

const ConvShape kShape{.batch = 2, .out_channels = 3, .height = 4, .width = 4, .kernel = 2};

void convolve(const ConvShape& shape, const float* input, const float* weights, float* output) {
  for (std::int64_t i = 0; i < shape.output_size(); ++i) output[i] = input[0] * weights[0];
}
const CpuStage kStage({.id = "baseline", .title = "Writes"}, convolve);

std::vector<std::string> requests() {
  const ServeRequest plain{.token = 7, .stage = "baseline", .shape = kShape};
  ServeRequest pauses = plain;
  pauses.pauses = true;
  ServeRequest steps = plain;
  steps.steps = true;
  return {encode(plain),
          encode(pauses),
          encode(steps),
          encode(ServeRequest{.token = 8}),
          to_string(Step::kEmptyCall),
          to_string(Step::kNewInput),
          to_string(Step::kConvolve)};
}

void decode(Mutator& mutator) {
  ServeReply reply{.token = 9, .stages = {{.id = "a"}}, .measured = MeasuredDevice{}};
  reply.fault = FaultRecord{.kind = FaultKind::kNull, .text = "b"};
  const std::string text = mutator.mutated({encode(reply), requests().front()});
  if (const auto decoded = convlab::decode<ServeRequest>(text)) {
    if (!convlab::decode<ServeRequest>(encode(*decoded)))
      throw std::runtime_error("a request is lost: " + text);
  }
  if (const auto decoded = convlab::decode<ServeReply>(text)) {
    if (!convlab::decode<ServeReply>(encode(*decoded)))
      throw std::runtime_error("a reply is lost: " + text);
  }
}

// Some damaged messages, then the end of the channel.
void serve_damaged(Mutator& mutator) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) != 0) throw std::bad_alloc();
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(sockets[0]);
    ::_exit(static_cast<int>(serve(sockets[1])));
  }
  ::close(sockets[1]);
  Descriptor channel(sockets[0]);
  for (std::size_t messages = 1 + mutator.below(5); messages > 0; --messages) {
    std::vector<Descriptor> segments;
    std::vector<int> numbers;
    for (std::size_t i = mutator.below(2) == 0 ? 3 : mutator.below(5); i > 0; --i) {
      segments.emplace_back(::memfd_create("segment", MFD_CLOEXEC));
      const auto size = static_cast<off_t>(mutator.below(3) == 0 ? mutator.below(5000) : 4096);
      if (::ftruncate(segments.back().get(), size) != 0) throw std::bad_alloc();
      numbers.push_back(segments.back().get());
    }
    if (!send_message(channel.get(), mutator.mutated(requests()), numbers)) break;
    pollfd answer{channel.get(), POLLIN, 0};
    while (::poll(&answer, 1, 5) > 0 && receive_message(channel.get())) {
    }
  }
  channel.close();
  int status = 0;
  ::waitpid(process, &status, 0);
  if (!WIFEXITED(status)) {
    throw std::runtime_error("the process that serves died of signal " +
                             std::to_string(WTERMSIG(status)));
  }
}

void answer_damaged(Mutator& mutator) {
  using std::chrono::milliseconds;
  grader::Submission submission(HOSTILE_PROGRAM, milliseconds(300));
  submission.set_environment({"CONVLAB_FUZZ_SEED=" + std::to_string(mutator.below(1'000'000'000))});
  std::vector<StageInfo> stages;
  const grader::Arrays arrays = submission.prepare(kShape, grader::Placement::kAligned);
  submission.list_stages(stages);
  for (const StageInfo& stage : stages) {
    if (stage.id.find('\033') != std::string::npos) throw std::runtime_error("ESC in a stage");
  }
  submission.run("baseline");
  submission.run_phases("baseline", [] {});
  submission.run_timed("baseline", [&] { arrays.input[0] = 1.0F; });
  if (submission.device().device != Device::kCpu) throw std::runtime_error("it became a GPU");
}

}  // namespace

int main(int argc, char** argv) {
  int calls = 0;
  return testing::fuzz_main(argc, argv, "fuzz_channel", [&](Mutator& mutator) {
    decode(mutator);
    serve_damaged(mutator);
    constexpr int kEach = 50;
    if (calls++ % kEach == 0) answer_damaged(mutator);
  });
}
