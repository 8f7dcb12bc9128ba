// A milestone's program that was built for a GPU and emulates. Named "without_gpu" it says so from
// the start; named "loses_gpu" it first lists stages of a GPU.
#include <string>

#include "common/serve/channel.hpp"
#include "common/serve/serve.hpp"

int main(int, char** argv) {
  using namespace convlab;
  const bool loses_it = std::string(argv[0]).ends_with("loses_gpu");
  while (const auto message = receive_message(kServeDescriptor)) {
    const auto request = decode<ServeRequest>(message->text);
    if (!request) return 1;
    ServeReply reply{.token = request->token};
    const bool is_list = request->stage.empty();
    if (is_list) reply.stages = {{.id = "baseline", .title = "A stage"}};
    const bool has_gpu = loses_it && is_list;
    reply.device = has_gpu ? Device::kGpu : Device::kEmulated;
    if (!has_gpu) reply.no_gpu = "No CUDA device answered: no CUDA-capable device is detected.";
    if (!send_message(kServeDescriptor, encode(reply))) return 1;
  }
  return 0;
}
