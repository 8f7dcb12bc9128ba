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
  const DeviceLimits measured = session->measure_limits();
  CHECK(measured.bytes_per_second > 0.5 * promised.bytes_per_second);
  CHECK(measured.bytes_per_second <= promised.bytes_per_second);
  CHECK(measured.fp32_per_second > 0.5 * promised.fp32_per_second);
  CHECK(measured.fp32_per_second <= promised.fp32_per_second);
  CHECK(measured.fp16_per_second <= promised.fp16_per_second);
}

TEST_CASE("gpu session: a sample carries the clock that it ran at") {
  const auto session = open_cuda_session();
  const OpSample sample = session->time([] {});
  CHECK(sample.clock_mhz > 0);
  CHECK(sample.clock_mhz <= session->info().clock_mhz);
  CHECK(session->start_up_ms() > 0.0);
  CHECK(session->time_empty_launch().score_ms() > 0.0);
}

TEST_CASE("gpu session: a copy of a layer's tiles takes at least its bytes over the bandwidth") {
  const auto session = open_cuda_session();
  const ConvShape shape{2000, 16, 4, 40, 40, 7, 1};  // B M C H W K S
  const double bytes = 4.0 * static_cast<double>(shape.input_size() + shape.output_size());
  const double least = 1e3 * bytes / limits_of(session->info()).bytes_per_second;
  const double copy = session->measure_tile_copy(shape);
  CHECK(copy > least);
  CHECK(copy < 3 * least);
}
