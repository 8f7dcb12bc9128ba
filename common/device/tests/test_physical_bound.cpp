#include "common/base/tests/support/catch.hpp"
#include "common/device/physical_bound.hpp"

using namespace convlab;

namespace {

// Both convolutions of network fa23.
ConvShape first(int batch) {
  return {batch, 4, 1, 86, 86, 7, 1};
}
ConvShape second(int batch) {
  return {batch, 16, 4, 40, 40, 7, 1};
}

// Round numbers of the size of an H200's.
constexpr DeviceLimits kLarge{.bytes_per_second = 4e12,
                              .cache_bytes_per_second = 32e12,
                              .cache_bytes = 60'000'000,
                              .fp32_per_second = 64e12,
                              .tf32_per_second = 512e12,
                              .fp16_per_second = 1024e12};

const DeviceInfo kH200{.device = Device::kGpu,
                       .name = "NVIDIA H200",
                       .capability = {9, 0},
                       .multiprocessors = 132,
                       .l2_bytes = 60 << 20,
                       .clock_mhz = 1980,
                       .memory_clock_mhz = 3201,
                       .memory_bus_bits = 6144,
                       .driver = {},
                       .runtime = {}};

}  // namespace

TEST_CASE("physical bound: each input that a window covers and each output move once") {
  const CompulsoryTraffic traffic = compulsory_traffic(first(10'000));
  CHECK(traffic.read == 4 * (10'000LL * 86 * 86 + 4 * 49));
  CHECK(traffic.written == 4 * 10'000LL * 4 * 80 * 80);

  // Two positions of three pixels, one pixel skipped between them, the last two never reached.
  CHECK(compulsory_traffic({1, 1, 1, 9, 9, 3, 4}).read == 4 * (6 * 6 + 9));
  // With stride 2 no window of 3 uses the last row and column of 6.
  CHECK(compulsory_traffic({1, 1, 1, 6, 6, 3, 2}).read == 4 * (5 * 5 + 9));
}

TEST_CASE("physical bound: the larger of memory and arithmetic, by precision") {
  const PhysicalBound op1 = physical_bound(first(10'000), kLarge);
  CHECK(op1.memory_ms == Approx(1319.84e6 / 4e12 * 1e3).epsilon(1e-5));
  CHECK(op1.arithmetic_ms == Approx(2 * 12.544e9 / 64e12 * 1e3));
  CHECK(op1.ms() == op1.arithmetic_ms);
  const PhysicalBound half = physical_bound(first(10'000), kLarge, Precision::kFp16);
  CHECK(half.arithmetic_ms == Approx(op1.arithmetic_ms / 16));
  CHECK(half.ms() == half.memory_ms);
}

TEST_CASE("physical bound: what the cache may hold is not counted as impossible") {
  // 100 images stay in the cache before and after the call: only the reads from the cache count.
  const PhysicalBound small = physical_bound(first(100), kLarge);
  CHECK(small.impossible_ms == Approx(13.1992e6 / 32e12 * 1e3).epsilon(1e-4));
  CHECK(small.impossible_ms < small.memory_ms / 7);
  // 10 000 images cannot: inputs and outputs each save the cache's size at most.
  const PhysicalBound large = physical_bound(second(10'000), kLarge);
  CHECK(large.impossible_ms == Approx(large.memory_ms - 120e6 / 4e12 * 1e3));
  CHECK(physical_bound(first(100), {}).impossible_ms == 0.0);  // an unknown limit gives none
  // The number of operations is no part of it: there are methods that need fewer.
  CHECK(large.impossible_ms < large.arithmetic_ms / 4);
}

TEST_CASE("device limits: what properties promise, also between and beyond the table's rows") {
  const DeviceLimits limits = limits_of(kH200);
  CHECK(limits.bytes_per_second == Approx(4.917e12).epsilon(1e-3));
  CHECK(limits.fp32_per_second == Approx(66.9e12).epsilon(1e-3));
  CHECK(limits.fp16_per_second == Approx(16 * limits.fp32_per_second));
  CHECK(limits.tf32_per_second == Approx(8 * limits.fp32_per_second));
  CHECK(limits.cache_bytes == 60 << 20);
  CHECK(limits.cache_bytes_per_second > 5 * limits.bytes_per_second);
  DeviceInfo info = kH200;
  const auto fp32_of = [&](int major, int minor) {
    info.capability = {major, minor};
    return limits_of(info).fp32_per_second / (2e6 * 1980 * 132);
  };
  CHECK(fp32_of(7, 5) == Approx(64));
  CHECK(fp32_of(8, 9) == Approx(128));
  CHECK(fp32_of(99, 0) == Approx(128));
  info.capability = {7, 5};  // tensor cores, but none for TF32
  CHECK(limits_of(info).tf32_per_second == limits_of(info).fp32_per_second);
  CHECK(limits_of(info).fp16_per_second == Approx(8 * limits_of(info).fp32_per_second));
}

TEST_CASE(
    "device limits: emulated devices have none, what was measured above them does not count") {
  const DeviceLimits promised = limits_of(kH200);
  const DeviceLimits limits = with_measured(
      promised, {.bytes_per_second = 4.3e12, .fp32_per_second = 1.1 * promised.fp32_per_second});
  CHECK(limits.bytes_per_second == 4.3e12);
  CHECK(limits.fp32_per_second == promised.fp32_per_second);
  DeviceInfo emulated = kH200;
  emulated.device = Device::kEmulated;
  CHECK(limits_of(emulated).fp32_per_second == 0.0);
}
