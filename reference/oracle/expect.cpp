// Writes the answers of a network on the test images, which the grader will expect.
//
//     build/bin/expect fa23

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "reference/oracle/expected.hpp"

namespace {

void write(const std::string& name, const convlab::Dataset& dataset) {
  const convlab::Network network = convlab::load_network(name);
  const auto expected = convlab::oracle::compute_expected(network, dataset, dataset.count);
  const auto file = convlab::oracle::expected_folder() / (network.preset().name + ".json");
  convlab::write_atomically(file, convlab::oracle::to_json(expected, dataset.labels));
  const auto counts = convlab::oracle::count(expected, dataset.labels, dataset.count);
  std::printf("%-10s %d of %d right, %d undecided: %s\n", network.preset().name.c_str(),
              counts.correct, dataset.count, counts.undecided, file.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Computes in double precision what a network answers on the 10 000 test images.",
               "expect");
  std::vector<std::string> names;
  app.add_option("PRESET", names, "Networks, by name or as preset files (.json)")->required();
  app.footer("Example:\n  build/bin/expect fa23");
  return convlab::run_program(app, argc, argv, [&] {
    const convlab::Dataset dataset = convlab::load_dataset(convlab::Split::kTest);
    for (const std::string& name : names) write(name, dataset);
    return convlab::ExitCode::kPassed;
  });
}
