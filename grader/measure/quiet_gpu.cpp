#include "grader/measure/quiet_gpu.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "common/base/run_process.hpp"

namespace convlab::grader {

namespace {

// "97 % busy, 84 °C and slowed down by heat"; empty if a time can be taken now.
std::string disturbance() {
  // The first GPU that this process may use; nvidia-smi reads the variable's form of a list.
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string devices = visible == nullptr ? "0" : visible;
  const FinishedProcess run = run_process(
      {.words = {"nvidia-smi", "--id=" + devices.substr(0, devices.find(',')),
                 "--query-gpu=utilization.gpu,temperature.gpu,clocks_throttle_reasons.hw_thermal_"
                 "slowdown,clocks_throttle_reasons.sw_thermal_slowdown",
                 "--format=csv,noheader,nounits"},
       .time_limit = std::chrono::seconds(20)});
  if (!run.succeeded()) return {};
  constexpr int kBusy = 10;  // percent of the last second, which another program used
  std::istringstream line(run.output);
  int busy = 0;
  int degrees = 0;
  char comma = ',';
  line >> busy >> comma >> degrees;
  const bool is_hot = run.output.find(" Active") != std::string::npos;
  if (!line || (busy < kBusy && !is_hot)) return {};
  return std::to_string(busy) + " % busy, " + std::to_string(degrees) + " °C" +
         (is_hot ? ", slowed down by heat" : "");
}

}  // namespace

void wait_for_quiet_gpu(const Announce& announce) {
  // Once: afterwards the load is this check's own.
  static bool has_waited = false;
  if (std::exchange(has_waited, true)) return;
  constexpr int kLooks = 60;
  for (int look = 0; look < kLooks; ++look) {
    const std::string seen = disturbance();
    if (seen.empty()) return;
    announce("waiting until the GPU is idle and cool: " + seen);
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
}

}  // namespace convlab::grader
