#include "common/base/tests/support/mutation_fuzz.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"

namespace convlab::testing {

int fuzz_main(int argc, char** argv, const std::string& name,
              const std::function<void(Mutator&)>& one) {
  int runs = 100;
  double seconds = 0.0;
  std::uint64_t seed = 1;
  CLI::App app("Feeds damaged input to what reads it, and stops at the first mistake.", name);
  app.add_option("--runs", runs, "Number of inputs")->capture_default_str();
  app.add_option("--seconds", seconds, "Run this long instead");
  app.add_option("--seed", seed, "Seed of the first input; a failure names its own seed")
      ->check(CLI::NonNegativeNumber);
  app.footer("Examples:\n  build/ci/tests/" + name + " --seconds 600\n  build/ci/tests/" + name +
             " --seed 4711 --runs 1");
  return run_program(app, argc, argv, [&] {
    const auto start = std::chrono::steady_clock::now();
    const auto is_over = [&](std::uint64_t done) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      return seconds > 0.0 ? passed.count() > seconds : done >= static_cast<std::uint64_t>(runs);
    };
    std::uint64_t done = 0;
    for (; !is_over(done); ++done) {
      Mutator mutator(seed + done);
      try {
        one(mutator);
      } catch (const std::exception& error) {
        std::printf("%s: seed %llu: %s\n", name.c_str(),
                    static_cast<unsigned long long>(seed + done), error.what());
        return ExitCode::kFallsShort;
      }
    }
    std::printf("%s: %llu inputs, no mistake\n", name.c_str(),
                static_cast<unsigned long long>(done));
    return ExitCode::kPassed;
  });
}

}  // namespace convlab::testing
