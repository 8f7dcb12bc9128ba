// Writes the answers of a network on the test images, which the grader will expect.
//
//     build/bin/expect fa23          one network
//     build/bin/expect --all         every preset that has weights

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "reference/oracle/expected.hpp"

namespace {

void write(const std::string& name, const convlab::Dataset& dataset,
           const std::filesystem::path& folder) {
  const convlab::Network network = convlab::load_network(name);
  const auto expected = convlab::oracle::compute_expected(network, dataset, dataset.count);
  const auto file = folder / (network.preset().name + ".json");
  convlab::write_atomically(file, convlab::oracle::to_json(expected, dataset.labels));
  const auto counts = convlab::oracle::count(expected, dataset.labels, dataset.count);
  std::printf("%-10s %d of %d right, %d undecided: %s\n", network.preset().name.c_str(),
              counts.correct, dataset.count, counts.undecided, file.c_str());
}

std::vector<std::string> presets_with_weights() {
  std::vector<std::string> names;
  for (const std::string& name : convlab::preset_names()) {
    if (std::filesystem::exists(convlab::network_folder() / "weights" / (name + ".clw"))) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Computes in double precision what a network answers on the 10 000 test images.",
               "expect");
  std::vector<std::string> names;
  bool all = false;
  std::string output;
  auto* presets = app.add_option("PRESET", names, "Networks, by name or as preset files (.json)");
  auto* every = app.add_flag("--all", all, "Every preset that has weights")->excludes(presets);
  app.add_option("--output", output, "Folder of the files (default: reference/oracle/expected)");
  app.footer("Examples:\n  build/bin/expect fa23\n  build/bin/expect --all");
  return convlab::run_program(app, argc, argv, [&] {
    if (names.empty() && !*every) throw convlab::UsageError("Name a network, or say --all.");
    if (all) names = presets_with_weights();
    const auto folder =
        output.empty() ? convlab::oracle::expected_folder() : std::filesystem::path(output);
    const convlab::Dataset dataset = convlab::load_dataset(convlab::Split::kTest);
    for (const std::string& name : names) write(name, dataset, folder);
    return convlab::ExitCode::kPassed;
  });
}
