#include "common/emulation/runtime/settings.hpp"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/symbol_table.hpp"

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

/// "8.6" or "86".
int parse_compute_capability(const std::string& text) {
  std::string digits = text;
  if (digits.size() >= 3 && digits[digits.size() - 2] == '.') digits.erase(digits.size() - 2, 1);
  int value = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, value);
  if (failure != std::errc{} || rest != end || value < 50 || value > 129)
    throw UsageError("CONVLAB_EMU_CC=" + text + " is no compute capability from 5.0 to 12.9");
  return value;
}

constexpr std::size_t kKibibyte = 1024;

/// Limits by compute capability; a row holds for all capabilities below the next row's.
/// Source: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
struct Limits {
  int compute_capability;
  std::size_t shared_per_block_optin;  ///< this and the next in KiB
  std::size_t shared_per_multiprocessor;
  int max_threads_per_multiprocessor;
  int max_blocks_per_multiprocessor;
};
constexpr Limits kLimits[] = {
    {50, 48, 64, 2048, 32},    {52, 48, 96, 2048, 32},   {53, 48, 64, 2048, 32},
    {61, 48, 96, 2048, 32},    {62, 48, 64, 2048, 32},   {70, 96, 96, 2048, 32},
    {75, 64, 64, 1024, 16},    {80, 163, 164, 2048, 32}, {86, 99, 100, 1536, 16},
    {87, 163, 164, 1536, 16},  {89, 99, 100, 1536, 24},  {90, 227, 228, 2048, 32},
    {110, 227, 228, 1536, 24}, {120, 99, 100, 1536, 24},
};

}  // namespace

void parse_order(const std::string& text, Settings& settings) {
  const std::string shuffle = "shuffle:";
  if (text == "forward") {
    settings.order = Order::kForward;
  } else if (text == "reverse") {
    settings.order = Order::kReverse;
  } else if (text.starts_with(shuffle)) {
    settings.order = Order::kShuffle;
    settings.seed = parse_number<std::uint64_t>(
        "CONVLAB_EMU_ORDER=shuffle:", text.substr(shuffle.size()), 0, UINT64_MAX);
  } else {
    throw UsageError("CONVLAB_EMU_ORDER=" + text + " is none of forward, reverse, shuffle:SEED");
  }
}

Settings read_settings() {
  Settings result;
  if (const auto text = variable("CONVLAB_EMU_ORDER")) parse_order(*text, result);
  result.lazy_streams = is_second("CONVLAB_EMU_STREAMS", "eager", "lazy");
  const std::string forgiven = "forgiven:";
  if (const auto text = variable("CONVLAB_EMU_READS"); text && text->starts_with(forgiven)) {
    result.forgives_reads = true;
    result.byte_beyond =
        parse_number("CONVLAB_EMU_READS=forgiven:", text->substr(forgiven.size()), 0, 255);
  } else {
    result.forgives_reads = is_second("CONVLAB_EMU_READS", "exact", "forgiven");
  }
  result.withholds_products = is_second("CONVLAB_EMU_PRODUCTS", "made", "none");
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
  if (const auto text = variable("CONVLAB_EMU_CC"))
    result.compute_capability = parse_compute_capability(*text);
  return result;
}

static std::atomic<double> chosen_limit = -1.0;

double kernel_time_limit() {
  const double chosen = chosen_limit.load();
  return chosen >= 0.0 ? chosen : settings().timeout_seconds;
}

void limit_kernels(double seconds) {
  chosen_limit.store(seconds);
}

static Settings& fixed_settings() {
  static Settings instance = [] {
    const TellUncaughtErrors tell;
    return read_settings();
  }();
  return instance;
}

const Settings& settings() {
  return fixed_settings();
}

void choose_settings(const std::vector<std::string>& variables) {
  only<ChosenVariables>() = {variables};
  fixed_settings() = read_settings();
  if (settings().numbered_poison) poison_constants();
}

cudaDeviceProp make_device_model(int compute_capability, std::size_t memory_bytes) {
  const Limits* limits = std::begin(kLimits);
  for (const Limits& row : kLimits)
    if (row.compute_capability <= compute_capability) limits = &row;
  cudaDeviceProp p{};
  p.major = compute_capability / 10;
  p.minor = compute_capability % 10;
  std::snprintf(p.name, sizeof p.name, "Emulated device (compute capability %d.%d)", p.major,
                p.minor);
  p.totalGlobalMem = memory_bytes != 0 ? memory_bytes : std::size_t{16} << 30U;
  p.totalConstMem = std::size_t{64} * kKibibyte;
  p.memPitch = INT32_MAX;
  p.textureAlignment = 512;
  p.sharedMemPerBlock = 48 * kKibibyte;
  p.sharedMemPerBlockOptin = limits->shared_per_block_optin * kKibibyte;
  p.sharedMemPerMultiprocessor = limits->shared_per_multiprocessor * kKibibyte;
  p.reservedSharedMemPerBlock = compute_capability < 80 ? 0 : kKibibyte;
  p.memoryClockRate = 1215000;  // kHz of an A100, as is the other clock
  p.memoryBusWidth = 5120;
  p.l2CacheSize = 40 << 20;
  p.globalL1CacheSupported = p.localL1CacheSupported = p.memoryPoolsSupported = 1;
  p.unifiedAddressing = p.canMapHostMemory = p.managedMemory = p.concurrentManagedAccess = 1;
  p.warpSize = 32;
  p.clockRate = 1410000;
  p.multiProcessorCount = 108;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = INT32_MAX;
  p.maxGridSize[1] = p.maxGridSize[2] = UINT16_MAX;
  p.maxThreadsPerMultiProcessor = limits->max_threads_per_multiprocessor;
  p.maxBlocksPerMultiProcessor = limits->max_blocks_per_multiprocessor;
  p.cooperativeLaunch = p.deviceOverlap = p.concurrentKernels = p.streamPrioritiesSupported = 1;
  p.asyncEngineCount = 3;
  return p;
}

const cudaDeviceProp& device_model() {
  static const cudaDeviceProp model =
      make_device_model(settings().compute_capability, settings().memory_bytes);
  return model;
}

}  // namespace convlab::emulation
