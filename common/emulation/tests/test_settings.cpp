// The environment variables of the emulated device.

#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/emulation/runtime/settings.hpp"

namespace {

using convlab::emulation::read_settings;
using convlab::emulation::Settings;

/// The settings that are read while one variable has this value.
Settings with(const char* variable, const std::string& value) {
  setenv(variable, value.c_str(), 1);
  struct Unset {
    const char* name;
    ~Unset() { unsetenv(name); }
  } const unset{variable};
  return read_settings();
}

std::string complaint(const char* variable, const std::string& value) {
  try {
    with(variable, value);
  } catch (const convlab::UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("settings: every form of an order, and nothing else") {
  const char* const name = "CONVLAB_EMU_ORDER";
  CHECK_FALSE(with(name, "").reverses);
  CHECK_FALSE(with(name, "forward").reverses);
  CHECK(with(name, "reverse").reverses);
  for (const char* wrong : {"random", "Forward", "reverse "})
    CHECK(complaint(name, wrong) ==
          "CONVLAB_EMU_ORDER=" + std::string(wrong) + " is neither forward nor reverse");
}

TEST_CASE("settings: the other variables") {
  CHECK(with("CONVLAB_EMU_STREAMS", "lazy").lazy_streams);
  CHECK_FALSE(with("CONVLAB_EMU_STREAMS", "eager").lazy_streams);
  CHECK(complaint("CONVLAB_EMU_STREAMS", "late") ==
        "CONVLAB_EMU_STREAMS=late is neither eager nor lazy");
  CHECK(with("CONVLAB_EMU_READS", "forgiven").forgives_reads);
  CHECK_FALSE(with("CONVLAB_EMU_READS", "exact").forgives_reads);
  CHECK(complaint("CONVLAB_EMU_READS", "wild") ==
        "CONVLAB_EMU_READS=wild is neither exact nor forgiven");
  CHECK(with("CONVLAB_EMU_READS", "forgiven:61").byte_beyond == 61);
  CHECK(complaint("CONVLAB_EMU_READS", "forgiven:256") ==
        "CONVLAB_EMU_READS=forgiven:256 is not a number from 0 to 255");
  CHECK(with("CONVLAB_EMU_TIMEOUT", "0.5").timeout_seconds == 0.5);
  for (const char* wrong : {"-1", "nan", "inf", "1s"})
    CHECK(complaint("CONVLAB_EMU_TIMEOUT", wrong) ==
          "CONVLAB_EMU_TIMEOUT=" + std::string(wrong) + " is not a number from 0 to 1e+09");
  CHECK(with("CONVLAB_EMU_THREADS", "3").workers == 3);
  CHECK(complaint("CONVLAB_EMU_THREADS", "0") ==
        "CONVLAB_EMU_THREADS=0 is not a number from 1 to 1024");
  CHECK(with("CONVLAB_EMU_MEMORY", "2").memory_bytes == 2U << 20U);
  CHECK(complaint("CONVLAB_EMU_MEMORY", "0") ==
        "CONVLAB_EMU_MEMORY=0 is not a number from 1 to 1048576");
}
