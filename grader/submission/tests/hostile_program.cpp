// Answers the grader with damaged replies: what fuzz_channel starts as a submission.
// CONVLAB_FUZZ_SEED among what it is told says which.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "common/base/tests/support/mutation_fuzz.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/serve.hpp"

using namespace convlab;

namespace {

// Right replies, for this request.
std::vector<std::string> samples_for(std::uint64_t token) {
  std::vector<ServeReply> replies(6, ServeReply{.token = token});
  replies[0].stages = {{.id = "baseline", .title = "One"}};
  replies[1].op_ms = replies[1].layer_ms = 1.5;
  replies[1].sample = {.host_ms = 1.5, .event_ms = 1.25};
  replies[2].status = ServeStatus::kPaused;
  replies[3].status = ServeStatus::kException;
  replies[3].fault = FaultRecord{.kind = FaultKind::kDeviceMemory, .text = "a", .line = 3};
  replies[4].status = ServeStatus::kCrash;
  replies[4].fault = FaultRecord{.kind = FaultKind::kOutside, .array = "output", .element = -7};
  replies[5].device = Device::kGpu;
  replies[5].no_gpu = "none";
  replies[5].measured = MeasuredDevice{.start_up_ms = 1};
  std::vector<std::string> texts;
  for (const ServeReply& reply : replies) texts.push_back(encode(reply));
  return texts;
}

}  // namespace

int main() {
  testing::Mutator mutator(1);
  bool has_seed = false;
  std::vector<std::string> samples = samples_for(1);
  while (const auto message = receive_message(kServeDescriptor)) {
    if (const auto request = decode<ServeRequest>(message->text)) {
      samples = samples_for(request->token);
      const std::string& seed = request->settings.back();  // "CONVLAB_FUZZ_SEED=17"
      if (!std::exchange(has_seed, true)) {
        mutator = testing::Mutator(std::stoull(seed.substr(seed.find('=') + 1)));
      }
    }
    for (std::size_t answers = 1 + mutator.below(3); answers > 0; --answers) {
      switch (mutator.below(12)) {
        case 0:
          return static_cast<int>(mutator.below(256));
        case 1: {
          const std::string long_text(kMaxMessage + mutator.below(70'000), ' ');
          ::send(kServeDescriptor, long_text.data(), long_text.size(), MSG_NOSIGNAL);
          break;
        }
        case 2:
          ::send(kServeDescriptor, "", 0, MSG_NOSIGNAL);
          break;
        case 3: {
          const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
          send_message(kServeDescriptor, mutator.mutated(samples), {null, null, null, null});
          ::close(null);
          break;
        }
        case 4:
          // Not so many that the grader reports output without end (E-flood).
          if (::write(1, "\033[2Jx\n", 7) < 0) return 1;
          break;
        case 5:
          std::abort();
        case 6:
        case 7:
          send_message(kServeDescriptor, mutator.mutated(samples));
          break;
        default:
          send_message(kServeDescriptor, mutator.one_of(samples));
      }
    }
  }
}
