#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/device/device_info.hpp"
#include "common/device/device_session.hpp"
#include "common/device/gpu_driver.hpp"

using namespace convlab;

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
