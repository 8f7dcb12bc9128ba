// emulation_features: runs every feature, on a GPU or on the emulated device by the program's name.
//
//   emulation_features --json gpu.json
//   emulation_features-emulated --json emulated.json
//   emulation_features-emulated --compare gpu.json       prints counts, fails where bits differ
//   emulation_features-emulated --table                  the table of docs/emulation.md

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/emulation/tests/features/feature.hpp"
#include "common/error/error.hpp"

namespace {

using convlab::features::Agreement;
using convlab::features::Bits;
using convlab::features::Feature;
using convlab::features::features;
using Json = nlohmann::ordered_json;

std::string key(const Feature& feature) {
  return std::string(feature.group) + "/" + feature.name;
}

/// FNV-1a over the words.
std::string hash(const Bits& bits) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const std::uint32_t word : bits) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      value ^= (word >> shift) & 0xffU;
      value *= 0x100000001b3U;
    }
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Json run_all(const std::string& filter) {
  Json results = Json::object();
  for (const Feature& feature : features()) {
    if (key(feature).find(filter) == std::string::npos) continue;
    Json result;
    try {
      const Bits bits = feature.run();
      result["hash"] = hash(bits);
      result["words"] = bits.size();
      result["head"] =
          Bits(bits.begin(), bits.begin() + std::min<std::ptrdiff_t>(std::ssize(bits), 8));
    } catch (const std::exception& error) {
      result["error"] = error.what();
      cudaDeviceReset();
    }
    result["exact"] = feature.agreement == Agreement::kExact;
    results[key(feature)] = result;
  }
  return results;
}

/// @return whether all features that promise it agree bit for bit
bool compare(const Json& mine, const Json& other) {
  int same = 0;
  int different = 0;
  int expected = 0;
  int missing = 0;
  for (const auto& [name, result] : mine.items()) {
    if (!other.contains(name)) {
      ++missing;
      std::cout << "missing    " << name << "\n";
    } else if (!result["exact"].get<bool>()) {
      ++expected;
    } else if (!result.contains("error") && result["hash"] == other[name].value("hash", "")) {
      ++same;
    } else {
      ++different;
      std::cout << "different  " << name << "\n  here   " << result.dump() << "\n  there  "
                << other[name].dump() << "\n";
    }
  }
  std::cout << mine.size() << " features: " << same << " identical bit for bit, " << different
            << " different, " << expected << " not comparable, " << missing << " missing\n";
  return different == 0 && missing == 0;
}

void print_table() {
  std::cout << "| group | feature | emulated | remark |\n|---|---|---|---|\n";
  for (const Feature& feature : features()) {
    if (std::string(feature.group) == "random") continue;
    const char* word = feature.agreement == Agreement::kExact     ? "works, bit for bit"
                       : feature.agreement == Agreement::kDiffers ? "differs"
                                                                  : "refused";
    std::cout << "| " << feature.group << " | " << feature.name << " | " << word << " | "
              << feature.remark << " |\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs small kernels, one per feature, and writes their results as JSON");
  std::string json_file;
  std::string other_file;
  std::string filter;
  bool table = false;
  app.add_option("--json", json_file, "write the results to this file");
  app.add_option("--compare", other_file, "compare with results of another run");
  app.add_option("--filter", filter, "only features whose group/name contains this");
  app.add_flag("--table", table, "print the table of features and run nothing");
  CLI11_PARSE(app, argc, argv);
  if (table) {
    print_table();
    return 0;
  }
  const Json results = run_all(filter);
  if (!json_file.empty()) std::ofstream(json_file) << results.dump(1) << "\n";
  bool passed = true;
  for (const auto& [name, result] : results.items())
    if (result.contains("error")) {
      passed = false;
      std::cout << "failed     " << name << ": " << result["error"].get<std::string>() << "\n";
    }
  if (!other_file.empty()) {
    std::ifstream file(other_file);
    if (!file) {
      std::cerr << "cannot read " << other_file << "\n";
      return static_cast<int>(convlab::ExitCode::kUsage);
    }
    passed = compare(results, Json::parse(file)) && passed;
  } else {
    std::cout << results.size() << " features ran\n";
  }
  return static_cast<int>(passed ? convlab::ExitCode::kPassed : convlab::ExitCode::kFallsShort);
}
