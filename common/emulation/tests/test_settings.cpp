// The environment variables of the emulated device.

#include <cstdlib>
#include <string>

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

TEST_CASE("settings: what each variable means") {
  CHECK_FALSE(with("CONVLAB_EMU_ORDER", "").reverses);
  CHECK_FALSE(with("CONVLAB_EMU_ORDER", "forward").reverses);
  CHECK(with("CONVLAB_EMU_ORDER", "reverse").reverses);
  CHECK(with("CONVLAB_EMU_STREAMS", "lazy").lazy_streams);
  CHECK_FALSE(with("CONVLAB_EMU_STREAMS", "eager").lazy_streams);
  CHECK(with("CONVLAB_EMU_READS", "forgiven").forgives_reads);
  CHECK_FALSE(with("CONVLAB_EMU_READS", "exact").forgives_reads);
  CHECK(with("CONVLAB_EMU_READS", "forgiven:61").byte_beyond == 61);
  CHECK(with("CONVLAB_EMU_TIMEOUT", "0.5").timeout_seconds == 0.5);
  CHECK(with("CONVLAB_EMU_THREADS", "3").workers == 3);
  CHECK(with("CONVLAB_EMU_MEMORY", "2").memory_bytes == 2U << 20U);
}

TEST_CASE("settings: anything else is refused in a sentence") {
  struct Row {
    const char *variable, *value, *words;
  };
  for (const Row& row : {Row{"ORDER", "random", "neither forward nor reverse"},
                         Row{"ORDER", "Forward", "neither forward nor reverse"},
                         Row{"STREAMS", "late", "neither eager nor lazy"},
                         Row{"READS", "wild", "neither exact nor forgiven"},
                         Row{"READS", "forgiven:256", "not a number from 0 to 255"},
                         Row{"TIMEOUT", "-1", "not a number from 0 to 1e+09"},
                         Row{"TIMEOUT", "nan", "not a number from 0 to 1e+09"},
                         Row{"TIMEOUT", "1s", "not a number from 0 to 1e+09"},
                         Row{"THREADS", "0", "not a number from 1 to 1024"},
                         Row{"MEMORY", "0", "not a number from 1 to 1048576"}}) {
    const std::string name = std::string("CONVLAB_EMU_") + row.variable;
    CHECK(complaint(name.c_str(), row.value) == name + "=" + row.value + " is " + row.words);
  }
}
