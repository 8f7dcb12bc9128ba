// The messages between the grader and a submission, as JSON.

#include <string.h>  // explicit_bzero

#include <algorithm>
#include <bit>

#include "common/result/result_json.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/serve.hpp"

namespace convlab {

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
  constexpr std::int64_t kNumbersOfMessage = kMaxMessage / sizeof(float);
  while (count > 0) {
    const auto size = std::min(count, kNumbersOfMessage);
    auto message = receive_message(socket);
    if (!message) return false;
    const bool fits = message->text.size() == static_cast<std::size_t>(size) * sizeof(float);
    if (fits) take(reinterpret_cast<const float*>(message->text.data()), size);
    // Freed memory keeps its content, and a stage may allocate it.
    ::explicit_bzero(message->text.data(), message->text.size());
    if (!fits) return false;
    count -= size;
  }
  return true;
}

std::uint64_t mark_of(const float* numbers, std::int64_t count) {
  constexpr std::int64_t kMost = 256;
  const std::int64_t looked_at = std::min(count, kMost);
  std::uint64_t mark = 0;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    // The last one, too: there a thread that is late arrives last.
    const std::int64_t at = looked_at == 1 ? 0 : i * (count - 1) / (looked_at - 1);
    constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
    mark = (mark ^ std::bit_cast<std::uint32_t>(numbers[at])) * kOdd;
    mark ^= mark >> 32U;
  }
  return mark;
}

// A message holds the members that are named here and do not have their initial value.
#define CONVLAB_MEMBER(name) fields.unless(usual.name, #name, message.name);
#define CONVLAB_MESSAGE(Struct, ...)                                       \
  static void json_fields(JsonFields& fields, Struct& message) {           \
    static const Struct usual{};                                           \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CONVLAB_MEMBER, __VA_ARGS__)) \
  }
CONVLAB_MESSAGE(FaultMemory, variable, argument, freed, bytes, offset, row_bytes, allocated_at)
CONVLAB_MESSAGE(FaultWait, threads, call, line)
CONVLAB_MESSAGE(RaceSide, file, line, block, thread, writes, atomic, by_warp, code, call)
CONVLAB_MESSAGE(RaceFacts, scope, first, second, updates, between, between_line, meeting_places)
CONVLAB_MESSAGE(FaultRecord, kind, text, kernel, file, line, allocated_at, call, block, thread,
                array, element, code, has_thread, writes, memory, launch_line, grid, block_size,
                waiting, race, follows)
CONVLAB_MESSAGE(DeviceTransfer, what, bytes)
CONVLAB_MESSAGE(DeviceLaunch, kernel, file, line, grid, block, code, early, barrier_line,
                absent_line)
CONVLAB_MESSAGE(PoisonedOutput, never_written, computed, kernel, memory)
CONVLAB_MESSAGE(DeviceNotes, transfers, launches, live_bytes, live_objects, poisoned, streams,
                kernels_beside, copies_beside)
CONVLAB_MESSAGE(AccessNote, kernel, file, line, space, memory, writes, bytes, requests, lanes,
                parts, threads, atomic, conflicts)
CONVLAB_MESSAGE(ProductNote, kernel, file, line, kind, multiply_adds, warp_operations)
CONVLAB_MESSAGE(BarrierNote, kernel, file, line, times, variable, before, before_writes, behind,
                behind_writes, elements)
CONVLAB_MESSAGE(AccessNotes, accesses, barriers, products, left_out, shuffles, async_bytes,
                most_products, product_threads)
CONVLAB_MESSAGE(StepArray, space, memory, begin)
CONVLAB_MESSAGE(StepPlace, file, line, call)
CONVLAB_MESSAGE(BlockStep, kind, place, threads, array, bytes, requests)
CONVLAB_MESSAGE(StepNotes, kernel, file, grid, block_size, block, arrays, places, steps, is_cut,
                is_over)
CONVLAB_MESSAGE(PhaseKernels, prolog, convolve, epilog, unjoined, copies, finished, copied_in,
                read_back, computed)
CONVLAB_MESSAGE(ServeRequest, token, stage, settings, shape, input_offset, weights_offset,
                output_offset, kernel_limit_s, pauses, steps, tells_phases, withheld, token_key,
                calls, warm_ups, samples, most_ms)
CONVLAB_MESSAGE(ServeReply, token, status, message, file, fault, race, op_ms, layer_ms, kernels,
                notes, accesses, steps_bytes, stages, device, no_gpu, sample, measured, mark)

template <class Message>
std::string encode(const Message& message) {
  return json_text(Json(message));
}

template <>
std::string encode(const ServeReply& reply) {
  ServeReply shorter = reply;
  // An exception may carry any text; the message must stay within kMaxMessage after escaping.
  constexpr std::size_t kMaxText = 4096;
  shorter.message.resize(std::min(shorter.message.size(), kMaxText));
  shorter.file.resize(std::min(shorter.file.size(), kMaxText));
  shorter.no_gpu.resize(std::min(shorter.no_gpu.size(), kMaxText));
  if (shorter.fault) shorter.fault->text.resize(std::min(shorter.fault->text.size(), kMaxText));
  return json_text(Json(shorter));
}

template <class Message>
std::optional<Message> decode(const std::string& text) {
  try {
    return parse_foreign(text).get<Message>();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

template std::string encode(const ServeRequest&);
template std::string encode(const StepNotes&);
template std::optional<ServeRequest> decode(const std::string&);
template std::optional<ServeReply> decode(const std::string&);
template std::optional<StepNotes> decode(const std::string&);

}  // namespace convlab
