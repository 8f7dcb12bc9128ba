#include "common/base/tests/support/catch.hpp"
#include "common/device/profile.hpp"

using namespace convlab;

TEST_CASE("profile: largest first, cumulative, marked at 90 %") {
  const Profile profile{
      .kernels = {{"unroll", 2, 1'000'000}, {"multiply", 2, 8'500'000}, {"scale", 1, 500'000}},
      .api_calls = {{"cudaMalloc", 6, 2'000'000}},
      .copies = {{"host to device", 4, 5'000'000, 50'000'000}}};
  CHECK(profile_text(profile) ==
        "Kernels, by GPU time\n"
        "   share     sum     calls       total ms  name\n"
        "   85.0 %   85.0 %         2        8.5000  multiply\n"
        "   10.0 %   95.0 %         2        1.0000  unroll\n"
        "  ------------------------------------------- 90 % of the time is above this line\n"
        "    5.0 %  100.0 %         1        0.5000  scale\n"
        "\n"
        "CUDA API calls, by host time\n"
        "   share     sum     calls       total ms  name\n"
        "  100.0 %  100.0 %         6        2.0000  cudaMalloc\n"
        "\n"
        "Memory copies\n"
        "   calls            MB       total ms      GB/s  direction\n"
        "       4        50.000         5.0000     10.00  host to device\n");
}

TEST_CASE("profile: emulated, counts without times") {
  const Profile profile{.kernels = {{"conv_forward", 2, 0}},
                        .copies = {{"host to device", 4, 0, 50'000'000}},
                        .timed = false};
  CHECK(profile_text(profile) ==
        "Kernels (emulated: launches, no times)\n"
        "       2  conv_forward\n"
        "\n"
        "Memory copies\n"
        "       4        50.000 MB  host to device\n");
}
