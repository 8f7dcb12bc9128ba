#include "common/base/testing/catch.hpp"
#include "common/device/device_limits.hpp"

using namespace convlab;

namespace {

DeviceInfo h200() {
  DeviceInfo info;
  info.device = Device::kGpu;
  info.name = "NVIDIA H200";
  info.capability = {9, 0};
  info.multiprocessors = 132;
  info.l2_bytes = 60 << 20;
  info.clock_mhz = 1980;
  info.memory_clock_mhz = 3201;
  info.memory_bus_bits = 6144;
  return info;
}

}  // namespace

TEST_CASE("device limits: what the properties of an H200 promise") {
  const DeviceLimits limits = limits_of(h200());
  CHECK(limits.bytes_per_second == Approx(4.917e12).epsilon(1e-3));
  CHECK(limits.fp32_per_second == Approx(66.9e12).epsilon(1e-3));
  CHECK(limits.fp16_per_second == Approx(16 * limits.fp32_per_second));
  CHECK(limits.tf32_per_second == Approx(8 * limits.fp32_per_second));
  CHECK(limits.cache_bytes == 60 << 20);
  CHECK(limits.cache_bytes_per_second > 5 * limits.bytes_per_second);
}

TEST_CASE("device limits: by compute capability, between and beyond those of the table") {
  DeviceInfo info = h200();
  const auto fp32_of = [&](int major, int minor) {
    info.capability = {major, minor};
    return limits_of(info).fp32_per_second / (2e6 * 1980 * 132);
  };
  CHECK(fp32_of(7, 5) == Approx(64));
  CHECK(fp32_of(8, 0) == Approx(64));
  CHECK(fp32_of(8, 9) == Approx(128));
  CHECK(fp32_of(99, 0) == Approx(128));
  info.capability = {7, 5};  // tensor cores, but none for TF32
  CHECK(limits_of(info).tf32_per_second == limits_of(info).fp32_per_second);
  CHECK(limits_of(info).fp16_per_second == Approx(8 * limits_of(info).fp32_per_second));
}

TEST_CASE("device limits: emulated devices have none, what was measured counts") {
  DeviceInfo info = h200();
  DeviceLimits measured;
  measured.bytes_per_second = 4.3e12;
  const DeviceLimits limits = with_measured(limits_of(info), measured);
  CHECK(limits.bytes_per_second == 4.3e12);
  CHECK(limits.fp32_per_second == limits_of(info).fp32_per_second);
  measured.fp32_per_second = 1.1 * limits.fp32_per_second;  // more than the GPU promises
  CHECK(with_measured(limits_of(info), measured).fp32_per_second == limits.fp32_per_second);
  info.device = Device::kEmulated;
  CHECK(limits_of(info) == DeviceLimits{});
}
