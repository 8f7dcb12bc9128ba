// The messages between the grader and a submission, as JSON.

#include "common/error/enum_name.hpp"
#include "common/result/result_json.hpp"
#include "common/serve/serve.hpp"

namespace convlab {

namespace {

// An exception may carry any text; the message must stay within kMaxMessage after escaping.
void shorten(std::string& text) {
  constexpr std::size_t kMaxText = 4096;
  text.resize(std::min(text.size(), kMaxText));
}

template <class Message>
std::string encoded(const Message& message) {
  return Json(message).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Message>
std::optional<Message> decoded(const std::string& text) {
  try {
    return Json::parse(text).get<Message>();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

const char* to_string(ServeStatus status) {
  return enum_name(status, {"done", "not-implemented", "exception", "crash", "refused", "paused"});
}

const char* to_string(Step step) {
  return enum_name(step, {"empty-call", "new-input", "convolve"});
}

static void json_fields(JsonFields& fields, FaultRecord& fault) {
  fields("kind", fault.kind)
      .optional("text", fault.text)
      .optional("kernel", fault.kernel)
      .optional("file", fault.file)
      .optional("line", fault.line)
      .optional("allocated_at", fault.allocated_at)
      .optional("other_place", fault.other_place)
      .optional("call", fault.call)
      .optional("block", fault.block)
      .optional("thread", fault.thread)
      .optional("array", fault.array)
      .optional("element", fault.element);
}

static void json_fields(JsonFields& fields, PhaseKernels& kernels) {
  fields("prolog", kernels.prolog)("convolve", kernels.convolve)("epilog", kernels.epilog)(
      "unjoined", kernels.unjoined)("copies", kernels.copies)("finished", kernels.finished)
      .defaulted("copied_in", kernels.copied_in)
      .defaulted("read_back", kernels.read_back);
}

static void json_fields(JsonFields& fields, ServeRequest& request) {
  fields("token", request.token)("stage", request.stage);
  if (request.stage.empty()) return;
  fields("shape", request.shape)("input_offset", request.input_offset)(
      "weights_offset", request.weights_offset)("output_offset", request.output_offset)
      .defaulted("pauses", request.pauses)
      .defaulted("steps", request.steps);
}

static void json_fields(JsonFields& fields, ServeReply& reply) {
  fields("token", reply.token)("status", reply.status)
      .optional("message", reply.message)
      .optional("fault", reply.fault)
      .optional("op_ms", reply.op_ms)
      .optional("layer_ms", reply.layer_ms)
      .optional("kernels", reply.kernels)
      .optional("stages", reply.stages)
      .optional("device", reply.device)
      .optional("no_gpu", reply.no_gpu)
      .optional("sample", reply.sample)
      .optional("measured", reply.measured);
}

std::string encode(const ServeRequest& request) {
  return encoded(request);
}

std::string encode(const ServeReply& reply) {
  ServeReply shorter = reply;
  shorten(shorter.message);
  shorten(shorter.no_gpu);
  if (shorter.fault) shorten(shorter.fault->text);
  return encoded(shorter);
}

std::optional<ServeRequest> decode_request(const std::string& text) {
  return decoded<ServeRequest>(text);
}

std::optional<ServeReply> decode_reply(const std::string& text) {
  return decoded<ServeReply>(text);
}

}  // namespace convlab
