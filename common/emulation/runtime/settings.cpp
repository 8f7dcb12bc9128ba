#include "common/emulation/runtime/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/handles.hpp"

namespace convlab::emulation {
namespace {

/// What choose_settings got.
struct ChosenVariables : std::vector<std::string> {};

std::optional<std::string> variable(const char* name) {
  const std::string beginning = std::string(name) + "=";
  for (const std::string& each : only<ChosenVariables>())
    if (each.starts_with(beginning)) return each.substr(beginning.size());
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

template <typename Number>
Number parse_number(const char* name, const std::string& text, Number low, Number high) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  // A NaN is in no range.
  if (failure != std::errc{} || rest != end || !(value >= low && value <= high)) {
    std::ostringstream message;
    message << name << text << " is not a number from " << low << " to " << high;
    throw UsageError(message.str());
  }
  return value;
}

/// Of a variable with two values, of which the first is the usual one.
bool is_second(const char* name, const std::string& first, const std::string& second) {
  const std::string text = variable(name).value_or(first);
  if (text != first && text != second)
    throw UsageError(std::string(name) + "=" + text + " is neither " + first + " nor " + second);
  return text == second;
}

// @param left_out  gets their names
Work chosen_work(std::vector<std::string>& left_out) {
  static constexpr std::array kNames = {"all",
                                        "graphs",
                                        "first-stream",
                                        "other-streams",
                                        "first-device",
                                        "second-device",
                                        "plain-copies",
                                        "samples",
                                        "without-kernels",
                                        "without-inputs",
                                        "without-outputs"};
  std::istringstream text(variable("CONVLAB_EMU_WORK").value_or(kNames.front()));
  std::string work;
  std::getline(text, work, ':');
  const auto* const name = std::ranges::find(kNames, work);
  if (name == kNames.end()) throw UsageError("CONVLAB_EMU_WORK=" + work + " is unknown");
  for (std::string each; std::getline(text, each, ';');) left_out.push_back(each);
  return static_cast<Work>(name - kNames.begin());
}

}  // namespace

Settings read_settings() {
  Settings result;
  result.reverses = is_second("CONVLAB_EMU_ORDER", "forward", "reverse");
  result.lazy_streams = is_second("CONVLAB_EMU_STREAMS", "eager", "lazy");
  const std::string forgiven = "forgiven:";
  if (const auto text = variable("CONVLAB_EMU_READS"); text && text->starts_with(forgiven)) {
    result.forgives_reads = true;
    result.byte_beyond =
        parse_number("CONVLAB_EMU_READS=forgiven:", text->substr(forgiven.size()), 0, 255);
  } else {
    result.forgives_reads = is_second("CONVLAB_EMU_READS", "exact", "forgiven");
  }
  result.arrays_at_begin = is_second("CONVLAB_EMU_ARRAYS", "end", "begin");
  result.work = chosen_work(result.left_out);
  result.tell_poison = variable("CONVLAB_EMU_POISON") == "told";
  result.zeros_in_memory = variable("CONVLAB_EMU_POISON") == "zeros";
  result.numbered_poison =
      result.tell_poison ||
      (!result.zeros_in_memory && is_second("CONVLAB_EMU_POISON", "plain", "numbered"));
  if (const auto text = variable("CONVLAB_EMU_TIMEOUT"))
    result.timeout_seconds = parse_number("CONVLAB_EMU_TIMEOUT=", *text, 0.0, 1e9);
  if (const auto text = variable("CONVLAB_EMU_THREADS"))
    result.workers = parse_number("CONVLAB_EMU_THREADS=", *text, 1, 1024);
  if (const auto text = variable("CONVLAB_EMU_MEMORY"))
    result.memory_bytes = parse_number<std::uint64_t>("CONVLAB_EMU_MEMORY=", *text, 1, 1U << 20U)
                          << 20U;
  result.registers = variable("CONVLAB_EMU_REGISTERS").value_or("");
  result.gpu = &find_gpu(variable("CONVLAB_EMU_GPU").value_or("default"));
  return result;
}

static Settings& fixed_settings() {
  static Settings instance = read_settings();
  return instance;
}

const Settings& settings() {
  return fixed_settings();
}

void limit_kernels(double seconds) {
  fixed_settings().timeout_seconds = seconds;
}

void release_pinned() {
  only<PinnedMemory>().remove_if([](const std::byte*, std::size_t) { return true; });
}

void choose_settings(const std::vector<std::string>& variables) {
  only<ChosenVariables>() = {variables};
  fixed_settings() = read_settings();
  if (settings().numbered_poison) poison_constants();
  const auto observed = variable("CONVLAB_EMU_TRACE");
  if (observed && begin_observing != nullptr) begin_observing(*observed);
}

}  // namespace convlab::emulation
