// Hashes of the whole outputs of every stage of m2, m3 and m4, for both convolutions of fa23 and
// the same random data everywhere. Equal hashes: a GPU and its emulation agree in every bit.
//
//   output_hashes --write h200.json              on a GPU
//   output_hashes-emulated --compare h200.json   fails where a hash differs unless the file says
//   why

#include <CLI/CLI.hpp>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/base/run_program.hpp"
#include "common/data/random.hpp"
#include "common/device/cuda_session.hpp"
#include "common/stage/stage.hpp"

namespace {

using namespace convlab;
using Json = nlohmann::ordered_json;

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = 2.0F * random.uniform() - 1.0F;
  return values;
}

/// FNV-1a over the bytes.
std::string hash(const std::vector<float>& values) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const std::byte byte : std::as_bytes(std::span(values))) {
    value = (value ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  constexpr int kDigits = 16;
  std::string text(kDigits, '0');
  for (char& digit : text) {
    digit = "0123456789abcdef"[value >> 60U];
    value <<= 4U;
  }
  return text;
}

std::string output_hash(const Stage& stage, const ConvShape& shape) {
  const std::vector<float> input = random_floats(shape.input_size(), 1);
  const std::vector<float> weights = random_floats(shape.weights_size(), 2);
  std::vector<float> output(static_cast<std::size_t>(shape.output_size()));
  const auto convolution = stage.make();
  convolution->prolog(shape, input.data(), weights.data(), output.data());
  convolution->convolve();
  convolution->epilog();
  return hash(output);
}

Json all_hashes(int batch, const std::string& only) {
  Json hashes = Json::object();
  for (const Stage& stage : registered_stages()) {
    if (stage.id.find(only) == std::string::npos) continue;
    // batch, out channels, in channels, height, width, kernel
    hashes[stage.id] = {output_hash(stage, {batch, 4, 1, 86, 86, 7}),
                        output_hash(stage, {batch, 16, 4, 40, 40, 7})};
  }
  return hashes;
}

/// @return whether each stage has the hashes of the other run, or differs as `exceptions` say
bool compare(const Json& mine, const Json& other) {
  const Json exceptions = other.value("exceptions", Json::object());
  int equal = 0;
  bool passed = true;
  for (const auto& [stage, hashes] : mine.items()) {
    const bool same = hashes == other["hashes"].value(stage, Json());
    const std::string cause = exceptions.value(stage, "");
    equal += same ? 1 : 0;
    passed = passed && same == cause.empty();
    if (same && cause.empty()) continue;
    std::cout << (same ? "equal      " : "different  ") << stage << "  "
              << (cause.empty() ? "" : "known: " + cause) << "\n";
  }
  std::cout << equal << " of " << mine.size() << " stages have the bits of the "
            << other["device"].get<std::string>() << "\n";
  return passed;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now))};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Hashes the outputs of all stages");
  std::string written;
  std::string compared;
  std::string only;
  int batch = 100;
  app.add_option("--batch", batch, "images")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--stage", only, "only stages whose name contains this");
  app.add_option("--write", written, "write the hashes to this file");
  app.add_option("--compare", compared, "compare with the hashes in this file")
      ->check(CLI::ExistingFile);
  return run_program(app, argc, argv, [&] {
    const auto session = open_cuda_session();
    const DeviceInfo& device = session->info();
    Json other;
    if (!compared.empty()) {
      other = Json::parse(std::ifstream(compared));
      batch = other["batch"];
    }
    const Json hashes = all_hashes(batch, only);
    if (!written.empty()) {
      const Json result = {
          {"device", device.name}, {"driver", device.driver}, {"runtime", device.runtime},
          {"date", today()},       {"batch", batch},          {"hashes", hashes}};
      if (!(std::ofstream(written) << result.dump(1) << "\n")) {
        throw EnvironmentError("cannot write " + written);
      }
    }
    if (compared.empty()) {
      std::cout << hashes.dump(1) << "\n";
      return ExitCode::kPassed;
    }
    return compare(hashes, other) ? ExitCode::kPassed : ExitCode::kFallsShort;
  });
}
