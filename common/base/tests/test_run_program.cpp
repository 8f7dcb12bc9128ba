#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/base/run_program.hpp"
#include "common/base/tests/support/catch.hpp"

namespace {

using convlab::ExitCode;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome run(CLI::App& app, std::vector<const char*> arguments,
            const std::function<ExitCode()>& body) {
  std::ostringstream out;
  std::ostringstream err;
  auto* const out_before = std::cout.rdbuf(out.rdbuf());
  auto* const err_before = std::cerr.rdbuf(err.rdbuf());
  arguments.insert(arguments.begin(), app.get_name().c_str());
  const int code =
      convlab::run_program(app, static_cast<int>(arguments.size()), arguments.data(), body);
  std::cout.rdbuf(out_before);
  std::cerr.rdbuf(err_before);
  return {code, out.str(), err.str()};
}

Outcome run(const std::vector<const char*>& arguments, const std::function<ExitCode()>& body) {
  CLI::App app("Counts sheep.", "sheep");
  return run(app, arguments, body);
}

ExitCode nothing() {
  return ExitCode::kPassed;
}

}  // namespace

TEST_CASE("run_program: the body's exit code is the program's; help runs nothing") {
  CHECK(run({}, [] { return ExitCode::kFallsShort; }).exit_code == 1);
  const Outcome help = run({"--help"}, []() -> ExitCode { throw std::runtime_error("It ran."); });
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.out, Catch::Matchers::ContainsSubstring("Counts sheep."));
  CHECK(help.err.empty());
}

TEST_CASE("run_program: a wrong command line is a sentence with the command's name") {
  CLI::App app("Keeps animals.", "farm");
  std::string name;
  std::uint64_t seed = 0;
  CLI::App* command = app.add_subcommand("shear", "Shears one");
  command->add_option("NAME", name)->required();
  command->add_option("--seed", seed, "Which")->check(CLI::NonNegativeNumber);
  command->add_option("--count", seed, "How many");
  struct Row {
    std::vector<const char*> arguments;
    const char* complaint;
  };
  // An unknown option comes before a missing argument.
  for (const Row& row :
       {Row{{"shear", "--nope"},
            "farm: The following argument was not expected: --nope\nSee farm shear --help.\n"},
        Row{{"shear", "--sed", "4"}, "Did you mean --seed?\nSee farm shear --help.\n"},
        Row{{"shear"}, "farm: NAME is required\nSee farm shear --help.\n"},
        Row{{"shear", "dolly", "--seed", "-4"}, "--seed: Value -4 is too small."},
        Row{{"shear", "dolly", "--count", "many"},
            "farm: --count: 'many' is no whole number; write digits, like 12.\n"},
        Row{{"shear", "--seed=", "--goats"},
            "farm: There is no value after --seed=. Write --seed=VALUE, or leave the option "
            "out.\n"}}) {
    const Outcome outcome = run(app, row.arguments, nothing);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring(row.complaint));
  }
}

TEST_CASE("run_program: an exception is a sentence and its exit code") {
  CHECK(run({}, []() -> ExitCode { throw std::bad_alloc(); }).exit_code == 3);
  const Outcome other = run({}, []() -> ExitCode { throw std::runtime_error("It rains."); });
  CHECK(other.exit_code == 3);
  CHECK(other.err == "sheep: It rains.\n");
  const Outcome full = run({}, []() -> ExitCode {
    throw std::filesystem::filesystem_error("cannot copy file", "from", "to",
                                            std::make_error_code(std::errc::no_space_on_device));
  });
  CHECK(full.exit_code == 3);
  CHECK(full.err == "sheep: to: No space left on device; free some space, then run this again.\n");
}

TEST_CASE("run_program: 010 is ten, 5e-3 a number, and nan and 0x10 are none") {
  int sheep = 0;
  int dogs = 0;
  double hours = 0.0;
  CLI::App app("Keeps animals.", "farm");
  CLI::App* command = app.add_subcommand("shear", "Shears some");
  command->add_option("SHEEP", sheep)->check(CLI::Range(1, 99));
  command->add_option("--dogs", dogs);
  command->add_option("--hours", hours)->check(CLI::PositiveNumber);
  CHECK(run(app, {"shear", "010", "--hours", "0.5"}, nothing).exit_code == 0);
  CHECK(sheep == 10);
  CHECK(run(app, {"shear", "08", "--hours", "5e-3"}, nothing).exit_code == 0);
  CHECK(hours == 0.005);
  CHECK(run(app, {"shear", "08", "--hours", "2.5E1"}, nothing).exit_code == 0);
  CHECK(hours == 25.0);
  CHECK(run(app, {"shear", "1e1"}, nothing).exit_code == 2);
  CHECK(sheep == 8);
  CHECK(run(app, {"shear", "1", "--hours", "-nan"}, nothing).exit_code == 2);
  CHECK_THAT(run(app, {"shear", "1", "--dogs", "99999999999"}, nothing).err,
             Catch::Matchers::ContainsSubstring("--dogs: Value 99999999999 is too large."));
  CHECK(run(app, {"shear", "000", "--hours", "0.5"}, nothing).exit_code == 2);
  for (const char* wrong :
       {"nan", "inf", "0x10", "+5", "1e", "1e+3", "e3", "1 000", "3,5", "1.5.5", "x"}) {
    for (const char* option : {"--hours", "SHEEP"}) {
      INFO(option << " " << wrong);
      std::vector<const char*> words = {"shear", wrong};
      if (option[0] == '-') words = {"shear", "1", option, wrong};
      const Outcome refused = run(app, words, nothing);
      CHECK(refused.exit_code == 2);
      CHECK_THAT(refused.err,
                 Catch::Matchers::ContainsSubstring("'" + std::string(wrong) + "' is no "));
    }
  }
}
