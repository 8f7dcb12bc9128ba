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

static void json_fields(JsonFields& fields, FaultMemory& memory) {
  fields.optional("variable", memory.variable)
      .optional("argument", memory.argument)
      .optional("freed", memory.freed)
      .optional("bytes", memory.bytes)
      .optional("offset", memory.offset)
      .optional("row_bytes", memory.row_bytes)
      .optional("allocated_at", memory.allocated_at);
}

static void json_fields(JsonFields& fields, FaultWait& wait) {
  fields("threads", wait.threads).optional("call", wait.call).optional("line", wait.line);
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
      .optional("element", fault.element)
      .optional("code", fault.code)
      .optional("has_thread", fault.has_thread)
      .optional("writes", fault.writes)
      .optional("memory", fault.memory)
      .optional("launch_line", fault.launch_line)
      .optional("grid", fault.grid)
      .optional("block_size", fault.block_size)
      .optional("waiting", fault.waiting);
}

static void json_fields(JsonFields& fields, DeviceTransfer& transfer) {
  fields("what", transfer.what)("bytes", transfer.bytes);
}

static void json_fields(JsonFields& fields, DeviceLaunch& launch) {
  fields("kernel", launch.kernel)("file", launch.file)("line", launch.line)("grid", launch.grid)(
      "block", launch.block)
      .optional("early", launch.early)
      .optional("barrier_line", launch.barrier_line);
}

static void json_fields(JsonFields& fields, PoisonedOutput& output) {
  fields("never_written", output.never_written)("computed", output.computed)(
      "kernel", output.kernel)("memory", output.memory);
}

static void json_fields(JsonFields& fields, DeviceNotes& notes) {
  fields("transfers", notes.transfers)("launches", notes.launches)
      .optional("live_bytes", notes.live_bytes)
      .optional("poisoned", notes.poisoned);
}

static void json_fields(JsonFields& fields, AccessNote& note) {
  fields("kernel", note.kernel)("file", note.file)("line", note.line)("space", note.space)(
      "memory", note.memory)("writes", note.writes)("bytes", note.bytes)("requests", note.requests)(
      "lanes", note.lanes)("parts", note.parts)("least", note.least)("most", note.most)(
      "threads", note.threads)("most_by_one", note.most_by_one);
}

static void json_fields(JsonFields& fields, BarrierNote& note) {
  fields("kernel", note.kernel)("file", note.file)("line", note.line)
      .optional("times", note.times)
      .optional("variable", note.variable)
      .optional("before", note.before)
      .optional("before_writes", note.before_writes)
      .optional("behind", note.behind)
      .optional("behind_writes", note.behind_writes)
      .optional("elements", note.elements);
}

static void json_fields(JsonFields& fields, AccessNotes& notes) {
  fields.optional("accesses", notes.accesses).optional("barriers", notes.barriers);
}

static void json_fields(JsonFields& fields, PhaseKernels& kernels) {
  fields("prolog", kernels.prolog)("convolve", kernels.convolve)("epilog", kernels.epilog)(
      "unjoined", kernels.unjoined)("copies", kernels.copies)("finished", kernels.finished)
      .defaulted("copied_in", kernels.copied_in)
      .defaulted("read_back", kernels.read_back)
      .defaulted("sent", kernels.sent)
      .defaulted("reach", kernels.reach);
}

static void json_fields(JsonFields& fields, ServeRequest& request) {
  fields("token", request.token)("stage", request.stage).optional("settings", request.settings);
  if (request.stage.empty()) return;
  fields("shape", request.shape)("input_offset", request.input_offset)(
      "weights_offset", request.weights_offset)("output_offset", request.output_offset)
      .optional("kernel_limit_s", request.kernel_limit_s)
      .defaulted("pauses", request.pauses)
      .defaulted("steps", request.steps)
      .defaulted("records", request.records);
}

static void json_fields(JsonFields& fields, ServeReply& reply) {
  fields("token", reply.token)("status", reply.status)
      .optional("message", reply.message)
      .optional("fault", reply.fault)
      .optional("op_ms", reply.op_ms)
      .optional("layer_ms", reply.layer_ms)
      .optional("kernels", reply.kernels)
      .optional("notes", reply.notes)
      .optional("access_notes", reply.accesses)
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
