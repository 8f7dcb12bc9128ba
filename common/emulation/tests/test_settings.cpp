// The environment variables of the emulated device.

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/settings.hpp"

namespace {

using convlab::emulation::read_settings;
using convlab::emulation::Settings;

/// The settings that are read while one variable has this value.
Settings with(const std::string& variable, const std::string& value) {
  setenv(variable.c_str(), value.c_str(), 1);
  struct Unset {
    std::string name;
    ~Unset() { unsetenv(name.c_str()); }
  } const unset{variable};
  return read_settings();
}

}  // namespace

TEST_CASE("settings: wrong values get a sentence") {
  for (const auto& [name, wrong, words] : std::vector<std::array<std::string, 3>>{
           {"ORDER", "random", "neither forward nor reverse"},
           {"ORDER", "Forward", "neither forward nor reverse"},
           {"ORDER", "reverse ", "neither forward nor reverse"},
           {"STREAMS", "late", "neither eager nor lazy"},
           {"READS", "wild", "neither exact nor forgiven"},
           {"ARRAYS", "middle", "neither end nor begin"},
           {"READS", "forgiven:256", "not a number from 0 to 255"},
           {"TIMEOUT", "-1", "not a number from 0 to 1e+09"},
           {"TIMEOUT", "nan", "not a number from 0 to 1e+09"},
           {"TIMEOUT", "1s", "not a number from 0 to 1e+09"},
           {"GPU", "h200", "none of these: default, T4, A40, A100, H200"},
           {"THREADS", "0", "not a number from 1 to 1024"},
           {"MEMORY", "0", "not a number from 1 to 1048576"}}) {
    const std::string variable = "CONVLAB_EMU_" + name;
    CHECK_THROWS_WITH(with(variable, wrong), variable + "=" + wrong + " is " + words);
  }
}

TEST_CASE("settings: right values") {
  CHECK_FALSE(with("CONVLAB_EMU_ORDER", "").reverses);
  CHECK_FALSE(with("CONVLAB_EMU_ORDER", "forward").reverses);
  CHECK(with("CONVLAB_EMU_ORDER", "reverse").reverses);
  CHECK(with("CONVLAB_EMU_STREAMS", "lazy").lazy_streams);
  CHECK_FALSE(with("CONVLAB_EMU_STREAMS", "eager").lazy_streams);
  CHECK(with("CONVLAB_EMU_READS", "forgiven").forgives_reads);
  CHECK_FALSE(with("CONVLAB_EMU_READS", "exact").forgives_reads);
  CHECK(with("CONVLAB_EMU_ARRAYS", "begin").arrays_at_begin);
  CHECK(with("CONVLAB_EMU_READS", "forgiven:61").byte_beyond == 61);
  CHECK(with("CONVLAB_EMU_TIMEOUT", "0.5").timeout_seconds == 0.5);
  CHECK(with("CONVLAB_EMU_THREADS", "3").workers == 3);
  CHECK(with("CONVLAB_EMU_MEMORY", "2").memory_bytes == 2U << 20U);
  CHECK(with("CONVLAB_EMU_GPU", "").gpu == &convlab::emulation::find_gpu("default"));
  CHECK(with("CONVLAB_EMU_GPU", "A40").gpu->multiprocessors == 84);
}
