#include "grader/measure/quiet_gpu.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "common/base/run_process.hpp"

namespace convlab::grader {

namespace {

// Or nobody waits for it any longer.
std::atomic<bool> gpu_is_quiet = false;

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
  constexpr int kBusy = 10;  // percent of the last second, which another program used
  int busy = 0;
  int degrees = 0;
  if (std::sscanf(run.output.c_str(), "%d, %d", &busy, &degrees) != 2) return {};
  const bool is_hot = run.output.find(", Active") != std::string::npos;
  if (busy < kBusy && !is_hot) return {};
  return std::to_string(busy) + " % busy, " + std::to_string(degrees) + " °C" +
         (is_hot ? ", slowed down by heat" : "");
}

}  // namespace

void look_at_gpu() {
  if (disturbance().empty()) gpu_is_quiet = true;
}

void wait_for_quiet_gpu(const Announce& announce) {
  // Once: afterwards the load is this check's own.
  if (gpu_is_quiet.exchange(true)) return;
  constexpr int kLooks = 60;
  std::string seen = disturbance();
  for (int look = 0; look < kLooks && !seen.empty(); ++look) {
    announce("waiting until the GPU is idle and cool: " + seen);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    seen = disturbance();
  }
  if (!seen.empty()) announce("waiting no longer: the GPU is still " + seen);
}

}  // namespace convlab::grader
