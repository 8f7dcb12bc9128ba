// The limits and the clock of a real GPU.
#include "common/base/tests/support/catch.hpp"
#include "common/device/cuda_session.hpp"
#include "common/device/physical_bound.hpp"

using namespace convlab;

TEST_CASE("gpu session: what is measured comes near what the properties promise, never above") {
  const auto session = open_cuda_session();
  const DeviceInfo& info = session->info();
  CHECK(info.device == Device::kGpu);
  CHECK_FALSE(info.driver.empty());
  CHECK_FALSE(info.runtime.empty());
  const DeviceLimits promised = limits_of(info);
  const MeasuredDevice measured = session->measure();
  CHECK(measured.limits.bytes_per_second > 0.5 * promised.bytes_per_second);
  CHECK(measured.limits.bytes_per_second <= promised.bytes_per_second);
  CHECK(measured.limits.fp32_per_second > 0.5 * promised.fp32_per_second);
  CHECK(measured.limits.fp32_per_second <= promised.fp32_per_second);
  CHECK(measured.limits.fp16_per_second <= promised.fp16_per_second);
  CHECK(measured.start_up_ms > 0.0);
  CHECK(measured.empty_launch_ms > 0.0);
}

TEST_CASE("gpu session: a sample carries the clock that it ran at") {
  const auto session = open_cuda_session();
  const OpSample sample = session->time([] {});
  CHECK(sample.clock_mhz > 0);
  CHECK(sample.clock_mhz <= session->info().clock_mhz);
}
