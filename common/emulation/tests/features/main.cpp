// emulation_features: runs every feature, on a GPU or on the emulated device by the program's name.
//
//   emulation_features --json gpu.json
//   emulation_features-emulated --json emulated.json
//   emulation_features-emulated --compare gpu.json       prints counts, fails where bits differ
//   emulation_features-emulated --update-table docs/emulation.md --recorded gpu.json

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "common/base/address_sanitizer.hpp"
#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/emulation/tests/features/feature.hpp"

namespace {

using convlab::run_process;
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

/// What this program says to --words: the words of one feature. Fewer if it crashed on the way.
Bits run_in_own_process(const Feature& feature) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::istringstream words(
      convlab::run_process({.words = {program, "--words", key(feature)}}).output);
  Bits bits;
  for (std::uint32_t word = 0; words >> word;) bits.push_back(word);
  return bits;
}

int print_words(const std::string& name) {
  for (const Feature& feature : features())
    if (key(feature) == name)
      for (const std::uint32_t word : feature.run()) std::cout << word << "\n";
  return 0;
}

Json run_all(const std::string& filter) {
  Json results = Json::object();
  for (const Feature& feature : features()) {
    if (key(feature).find(filter) == std::string::npos) continue;
    Json result;
    try {
      const Bits bits = feature.own_process ? run_in_own_process(feature) : feature.run();
      // A sanitizer would end a process that runs this feature.
      if (feature.own_process && bits.empty() && CONVLAB_ADDRESS_SANITIZER) continue;
      if (feature.own_process && bits.empty()) throw std::runtime_error("its process said nothing");
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

/// In place of a result: no GPU has run this feature yet, and the table says so.
constexpr const char* kNotRun = "not run";

/// Which device gave the results, and when.
Json describe_run() {
  cudaDeviceProp device{};
  int driver = 0;
  int runtime = 0;
  cudaGetDeviceProperties(&device, 0);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const std::time_t now = std::time(nullptr);
  char date[16];
  const std::size_t length = std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return {{"device", device.name},
          {"driver for CUDA", driver},
          {"CUDA", runtime},
          {"date", std::string(date, length)}};
}

/// @return whether the other run has all features, and those that promise it agree bit for bit
bool compare(const Json& mine, const Json& other) {
  int same = 0;
  int different = 0;
  int expected = 0;
  int missing = 0;
  int not_run = 0;
  for (const auto& [name, result] : mine.items()) {
    if (!other.contains(name)) {
      ++missing;
      std::cout << "not there  " << name << "\n";
    } else if (other[name] == kNotRun) {
      ++not_run;
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
            << " different, " << expected << " not comparable, " << not_run
            << " that no GPU has run, " << missing << " missing\n";
  return different == 0 && missing == 0;
}

/// What the rewrite refuses (test_rewriter.cpp); it never becomes a program that could run here.
struct Refusal {
  const char* feature;
  const char* remark;
};
constexpr Refusal kRefusals[] = {
    {"inline PTX beyond the instructions above", "error of the compiler in its line"},
    {"textures and surfaces", "error with file and line"},
    {"dynamic parallelism", "error with file and line"},
    {"clusters of blocks, cudaLaunchKernelEx", "error with file and line"},
    {"`cudaArray_t`", "`cudaErrorNotSupported` and a report"},
    {"a function of the host called in a kernel", "error with file and line, as from nvcc"},
    {"a function of the device called by the host", "error with file and line, as from nvcc"},
    {"a kernel called without `<<<…>>>`", "error with file and line, as from nvcc"},
};

/// @param recorded  what a GPU said: only where both are the same does a row say so
std::string table(const Json& mine, const Json& recorded) {
  std::string text = "| group | feature | emulated | remark |\n|---|---|---|---|\n";
  const auto row = [&](const std::string& group, const std::string& name, const char* word,
                       const std::string& remark) {
    text.append("| ").append(group).append(" | ").append(name).append(" | ").append(word);
    text.append(" | ").append(remark).append(" |\n");
  };
  for (const Feature& feature : features()) {
    const Json theirs = recorded.value(key(feature), Json(kNotRun));
    const bool same =
        theirs.is_object() && theirs.value("hash", "") == mine[key(feature)].value("hash", " ");
    if (feature.agreement == Agreement::kDiffers)
      row(feature.group, feature.name, "differs", feature.remark);
    else
      row(feature.group, feature.name, same ? "works, bit for bit" : "works, no GPU has run it",
          feature.remark);
  }
  for (const Refusal& refusal : kRefusals)
    row("language", refusal.feature, "refused", refusal.remark);
  return text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The page with the table between its markers brought up to date; empty without markers.
std::string with_table(const std::string& page, const std::string& recorded) {
  const std::string begin = "<!-- features begin -->\n";
  const std::string end = "<!-- features end -->";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos) return {};
  return page.substr(0, from + begin.size()) +
         table(run_all(""), recorded.empty() ? Json::object() : Json::parse(read_file(recorded))) +
         page.substr(to);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs small kernels, one per feature, and writes their results as JSON");
  std::string json_file;
  std::string other_file;
  std::string recorded_file;
  std::string filter;
  std::string words;
  std::string update_page;
  std::string check_page;
  app.add_option("--json", json_file, "write the results to this file");
  app.add_option("--compare", other_file, "compare with results of another run");
  app.add_option("--recorded", recorded_file, "what a GPU said, for the table");
  app.add_option("--filter", filter, "only features whose group/name contains this");
  app.add_option("--update-table", update_page, "rewrite the table of features in this page");
  app.add_option("--check-table", check_page, "fail unless this page has the current table");
  app.add_option("--words", words, "print the words of the feature of this group/name");
  CLI11_PARSE(app, argc, argv);
  if (!words.empty()) return print_words(words);
  if (!update_page.empty()) {
    const std::string page = with_table(read_file(update_page), recorded_file);
    if (page.empty() || !(std::ofstream(update_page) << page)) {
      std::cerr << update_page << " has no markers for the table or cannot be written\n";
      return static_cast<int>(convlab::ExitCode::kUsage);
    }
    return 0;
  }
  if (!check_page.empty()) {
    const std::string page = read_file(check_page);
    if (!page.empty() && with_table(page, recorded_file) == page) return 0;
    std::cerr << check_page << " is behind: emulation_features-emulated --update-table "
              << check_page << " --recorded FILE\n";
    return static_cast<int>(convlab::ExitCode::kFallsShort);
  }
  const Json results = run_all(filter);
  if (!json_file.empty()) {
    Json all = {{"run", describe_run()}};
    all.update(results);
    std::ofstream(json_file) << all.dump(1) << "\n";
  }
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
