// The messages between the grader and a submission, as JSON.

#include <string.h>  // explicit_bzero

#include <algorithm>
#include <cstring>

#include "common/base/enum_name.hpp"
#include "common/result/result_json.hpp"
#include "common/serve/channel.hpp"
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
  return json_text(Json(message));
}

template <class Message>
std::optional<Message> decoded(const std::string& text) {
  try {
    return parse_foreign(text).get<Message>();
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

const char* to_string(Withheld withheld) {
  return enum_name(withheld, {"nothing", "input", "weights", "both"});
}

constexpr std::int64_t kNumbersOfMessage = kMaxMessage / sizeof(float);

bool send_bytes(int socket, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMaxMessage))) {
    if (!send_message(socket, bytes.substr(0, kMaxMessage))) return false;
  }
  return true;
}

bool send_numbers(int socket, const float* numbers, std::int64_t count) {
  return send_bytes(socket, {reinterpret_cast<const char*>(numbers),
                             static_cast<std::size_t>(count) * sizeof(float)});
}

bool receive_numbers(int socket, std::int64_t count,
                     const std::function<void(const float* numbers, std::int64_t count)>& take) {
  std::vector<float> numbers(static_cast<std::size_t>(std::min(count, kNumbersOfMessage)));
  bool complete = true;
  for (std::int64_t begin = 0; complete && begin < count; begin += kNumbersOfMessage) {
    const auto size = std::min(count - begin, kNumbersOfMessage);
    auto message = receive_message(socket);
    complete = message && message->text.size() == static_cast<std::size_t>(size) * sizeof(float);
    if (!complete) break;
    std::memcpy(numbers.data(), message->text.data(), message->text.size());
    take(numbers.data(), size);
    // Freed memory keeps its content, and a stage may allocate it.
    ::explicit_bzero(message->text.data(), message->text.size());
  }
  ::explicit_bzero(numbers.data(), numbers.size() * sizeof(float));
  return complete;
}

static void json_fields(JsonFields& fields, FaultMemory& memory) {
  fields.optional("variable", memory.variable, "argument", memory.argument, "freed", memory.freed,
                  "bytes", memory.bytes, "offset", memory.offset, "row_bytes", memory.row_bytes,
                  "allocated_at", memory.allocated_at);
}

static void json_fields(JsonFields& fields, FaultWait& wait) {
  fields("threads", wait.threads).optional("call", wait.call, "line", wait.line);
}

static void json_fields(JsonFields& fields, RaceSide& side) {
  fields.optional("file", side.file, "line", side.line, "block", side.block, "thread", side.thread,
                  "writes", side.writes, "atomic", side.atomic, "by_warp", side.by_warp, "code",
                  side.code, "call", side.call);
}

static void json_fields(JsonFields& fields, RaceFacts& race) {
  fields("scope", race.scope, "first", race.first, "second", race.second)
      .optional("updates", race.updates, "between", race.between, "between_line", race.between_line,
                "meeting_places", race.meeting_places);
}

static void json_fields(JsonFields& fields, FaultRecord& fault) {
  fields("kind", fault.kind)
      .optional("text", fault.text, "kernel", fault.kernel, "file", fault.file, "line", fault.line,
                "allocated_at", fault.allocated_at, "call", fault.call, "block", fault.block,
                "thread", fault.thread, "array", fault.array, "element", fault.element, "code",
                fault.code, "has_thread", fault.has_thread, "writes", fault.writes, "memory",
                fault.memory, "launch_line", fault.launch_line, "grid", fault.grid, "block_size",
                fault.block_size, "waiting", fault.waiting, "race", fault.race);
}

static void json_fields(JsonFields& fields, DeviceTransfer& transfer) {
  fields("what", transfer.what, "bytes", transfer.bytes);
}

static void json_fields(JsonFields& fields, DeviceLaunch& launch) {
  fields("kernel", launch.kernel, "file", launch.file, "line", launch.line, "grid", launch.grid,
         "block", launch.block)
      .optional("early", launch.early, "barrier_line", launch.barrier_line, "absent_line",
                launch.absent_line);
}

static void json_fields(JsonFields& fields, PoisonedOutput& output) {
  fields("never_written", output.never_written, "computed", output.computed, "kernel",
         output.kernel, "memory", output.memory);
}

static void json_fields(JsonFields& fields, DeviceNotes& notes) {
  fields("transfers", notes.transfers, "launches", notes.launches)
      .optional("live_bytes", notes.live_bytes, "poisoned", notes.poisoned);
}

static void json_fields(JsonFields& fields, AccessNote& note) {
  fields("kernel", note.kernel, "file", note.file, "line", note.line, "space", note.space, "memory",
         note.memory, "writes", note.writes, "bytes", note.bytes, "requests", note.requests,
         "lanes", note.lanes, "parts", note.parts, "least", note.least, "most", note.most,
         "threads", note.threads, "most_by_one", note.most_by_one)
      .optional("atomic", note.atomic, "conflicts", note.conflicts);
}

static void json_fields(JsonFields& fields, ProductNote& note) {
  fields("kernel", note.kernel, "file", note.file, "line", note.line, "kind", note.kind,
         "multiply_adds", note.multiply_adds, "warp_operations", note.warp_operations);
}

static void json_fields(JsonFields& fields, BarrierNote& note) {
  fields("kernel", note.kernel, "file", note.file, "line", note.line)
      .optional("times", note.times, "variable", note.variable, "before", note.before,
                "before_writes", note.before_writes, "behind", note.behind, "behind_writes",
                note.behind_writes, "elements", note.elements);
}

static void json_fields(JsonFields& fields, AccessNotes& notes) {
  fields.optional("accesses", notes.accesses, "barriers", notes.barriers, "products",
                  notes.products, "left_out", notes.left_out);
}

static void json_fields(JsonFields& fields, StepArray& array) {
  fields("space", array.space, "memory", array.memory, "begin", array.begin);
}

static void json_fields(JsonFields& fields, StepPlace& place) {
  fields("file", place.file, "line", place.line).optional("call", place.call);
}

static void json_fields(JsonFields& fields, BlockStep& step) {
  fields("kind", step.kind, "place", step.place, "threads", step.threads)
      .defaulted("array", step.array)
      .optional("bytes", step.bytes, "requests", step.requests);
}

static void json_fields(JsonFields& fields, StepNotes& notes) {
  fields("kernel", notes.kernel, "file", notes.file, "grid", notes.grid, "block_size",
         notes.block_size, "block", notes.block, "arrays", notes.arrays, "places", notes.places,
         "steps", notes.steps)
      .optional("first", notes.first, "is_cut", notes.is_cut, "is_over", notes.is_over);
}

static void json_fields(JsonFields& fields, PhaseKernels& kernels) {
  fields("prolog", kernels.prolog, "convolve", kernels.convolve, "epilog", kernels.epilog,
         "unjoined", kernels.unjoined, "copies", kernels.copies, "finished", kernels.finished)
      .defaulted("copied_in", kernels.copied_in, "read_back", kernels.read_back, "reach",
                 kernels.reach);
}

static void json_fields(JsonFields& fields, ServeRequest& request) {
  fields("token", request.token, "stage", request.stage).optional("settings", request.settings);
  if (request.stage.empty()) return;
  fields("shape", request.shape, "input_offset", request.input_offset, "weights_offset",
         request.weights_offset, "output_offset", request.output_offset)
      .optional("kernel_limit_s", request.kernel_limit_s)
      .defaulted("pauses", request.pauses, "steps", request.steps, "withheld", request.withheld,
                 "token_key", request.token_key, "calls", request.calls);
}

static void json_fields(JsonFields& fields, ServeReply& reply) {
  fields("token", reply.token, "status", reply.status)
      .optional("message", reply.message, "fault", reply.fault, "race", reply.race, "op_ms",
                reply.op_ms, "layer_ms", reply.layer_ms, "kernels", reply.kernels, "notes",
                reply.notes, "access_notes", reply.accesses, "steps_bytes", reply.steps_bytes,
                "stages", reply.stages, "device", reply.device, "no_gpu", reply.no_gpu, "sample",
                reply.sample, "measured", reply.measured);
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

std::string encode(const StepNotes& steps) {
  return encoded(steps);
}

std::optional<ServeRequest> decode_request(const std::string& text) {
  return decoded<ServeRequest>(text);
}

std::optional<ServeReply> decode_reply(const std::string& text) {
  return decoded<ServeReply>(text);
}

std::optional<StepNotes> decode_steps(const std::string& text) {
  return decoded<StepNotes>(text);
}

}  // namespace convlab
