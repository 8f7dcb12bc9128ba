// The messages between the grader and a submission, as JSON.

#include <array>

#include "common/result/json_fields.hpp"
#include "common/serve/serve.hpp"

namespace convlab {

namespace {

constexpr std::array<const char*, 6> kStatusNames = {"done",  "not-implemented", "exception",
                                                     "crash", "refused",         "paused"};

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string encode(const ServeRequest& request) {
  Json json = {{"token", request.token}, {"stage", request.stage}};
  if (!request.stage.empty()) {
    json["shape"] = request.shape;
    json["input_offset"] = request.input_offset;
    json["weights_offset"] = request.weights_offset;
    json["output_offset"] = request.output_offset;
    json["pauses"] = request.pauses;
  }
  return dump(json);
}

std::string encode(const ServeReply& reply) {
  // An exception may carry any text; the message must stay within kMaxMessage after escaping.
  constexpr std::size_t kMaxText = 4096;
  Json json = {{"token", reply.token},
               {"status", kStatusNames.at(static_cast<std::size_t>(reply.status))},
               {"message", reply.message.substr(0, kMaxText)},
               {"op_ms", reply.op_ms},
               {"layer_ms", reply.layer_ms},
               {"kernels", {reply.kernels.prolog, reply.kernels.convolve, reply.kernels.epilog}},
               {"unjoined", reply.kernels.unjoined},
               {"copies", reply.kernels.copies},
               {"finished", reply.kernels.finished},
               {"stages", reply.stages},
               {"device", reply.device},
               {"no_gpu", reply.no_gpu.substr(0, kMaxText)},
               {"sample", reply.sample}};
  if (reply.report) json["report"] = *reply.report;
  return dump(json);
}

std::optional<ServeRequest> decode_request(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    ServeRequest request;
    request.token = json.at("token");
    request.stage = json.at("stage");
    if (!request.stage.empty()) {
      request.shape = json.at("shape").get<ConvShape>();
      request.input_offset = json.at("input_offset");
      request.weights_offset = json.at("weights_offset");
      request.output_offset = json.at("output_offset");
      request.pauses = json.value("pauses", false);
    }
    return request;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<ServeReply> decode_reply(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    ServeReply reply;
    reply.token = json.at("token");
    const auto status = json.at("status").get<std::string>();
    std::size_t index = 0;
    while (index < kStatusNames.size() && status != kStatusNames[index]) ++index;
    if (index == kStatusNames.size()) return std::nullopt;
    reply.status = static_cast<ServeStatus>(index);
    reply.message = json.at("message");
    reply.op_ms = json.at("op_ms");
    reply.layer_ms = json.at("layer_ms");
    if (const auto kernels = json.find("kernels"); kernels != json.end()) {
      reply.kernels = {.prolog = kernels->at(0),
                       .convolve = kernels->at(1),
                       .epilog = kernels->at(2),
                       .unjoined = json.value("unjoined", false),
                       .copies = json.value("copies", 0),
                       .finished = json.value("finished", false)};
    }
    reply.stages = json.at("stages").get<std::vector<StageInfo>>();
    reply.device = json.value("device", Device::kCpu);
    reply.no_gpu = json.value("no_gpu", "");
    reply.sample = json.value("sample", OpSample{});
    if (json.contains("report")) reply.report = json["report"].get<DeviceReport>();
    return reply;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace convlab
