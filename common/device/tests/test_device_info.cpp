#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/device/device_info.hpp"
#include "common/device/device_session.hpp"
#include "common/device/gpu_probe.hpp"

using namespace convlab;

TEST_CASE("device info: versions are ordered and read like releases") {
  CHECK(ComputeCapability{8, 9} < ComputeCapability{9, 0});
  CHECK(ComputeCapability{8, 0} < ComputeCapability{8, 6});
  CHECK_FALSE(ComputeCapability{9, 0} < ComputeCapability{9, 0});
  CHECK(to_string(ComputeCapability{10, 3}) == "10.3");
  CHECK(cuda_version_text(11080) == "11.8");
  CHECK(cuda_version_text(13010) == "13.1");
}

TEST_CASE("a stage that needs a newer GPU says which") {
  DeviceInfo info;
  info.name = "NVIDIA RTX A4000";
  info.capability = {8, 6};
  CHECK_NOTHROW(require_capability(info, {8, 6}, "Stage 'tiled'"));
  CHECK(testing::message_of([&] {
          require_capability(info, {9, 0}, "Stage 'wgmma'");
        }) == "Stage 'wgmma' needs compute capability 9.0; this GPU (NVIDIA RTX A4000) has 8.6.");
}

TEST_CASE("no clock is told for a device that does not exist") {
  CHECK_FALSE(SmClock("ffffffff:ff:ff.0").mhz());
}
