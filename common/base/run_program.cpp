#include "common/base/run_program.hpp"

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "common/base/unknown_name.hpp"

namespace convlab {
namespace {

// CLI11 says "Could not convert: --epochs = x", but not what to type instead. A range without an
// upper end has 309 digits in its text, or in newer versions an exponent.
std::string sentence(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string could_not = "Could not convert: ";
  if (const auto value = text.find(" = "); text.starts_with(could_not) && value < text.size()) {
    return text.substr(could_not.size(), value - could_not.size()) + " takes a number, not '" +
           text.substr(value + 3) + "'.";
  }
  const auto range = text.find(" not in range ");
  const auto has = [&](const char* end) { return text.find(end, range) != std::string::npos; };
  if (range == std::string::npos || !(has("17976931") || has("e+308"))) return text;
  const std::string before = text.substr(0, range);
  const bool is_number = CLI::Number(before.substr(before.rfind(' ') + 1)).empty();
  return before + (is_number ? " is too small." : " is no number; write it as 3.5.");
}

/// What is wrong, whether an option like an unknown one was meant, and which help to see. An
/// unknown word is more likely a mistake than a missing one, so it is reported first.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string text =
      is_missing && !unknown.empty() ? CLI::ExtrasError(unknown).what() : sentence(error);
  const CLI::App* command = &app;
  std::string name = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  }
  for (const std::string& word : unknown) {
    const std::string meant = word.starts_with("--") ? name_meant(word, known) : "";
    if (!meant.empty()) return text + ". Did you mean " + meant + "?\nSee " + name + " --help.";
  }
  return text + "\nSee " + name + " --help.";
}

/// Numbers as a person writes them: CLI11 reads 010 as 8, as C++ does, and lets "nan" pass every
/// range.
void read_numbers_plainly(CLI::App& app) {
  const CLI::Validator decimal(
      [](std::string& text) {
        const auto first = text.find_first_not_of('0');
        const bool is_digits = text.find_first_not_of("0123456789") == std::string::npos;
        if (is_digits && first != 0) text = first == text.npos ? "0" : text.substr(first);
        return std::string();
      },
      "");
  const CLI::Validator finite(
      [](std::string& text) {
        double number = 0.0;
        const bool is_wrong = CLI::detail::lexical_cast(text, number) && !std::isfinite(number);
        return is_wrong ? "'" + text + "' is no number; write it as 3.5." : std::string();
      },
      "");
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT") || type.starts_with("UINT")) option->transform(decimal);
    if (type.starts_with("FLOAT")) option->check(finite);
  }
  for (CLI::App* command : app.get_subcommands({})) read_numbers_plainly(*command);
}

/// CLI11 would take the word after "--stages=" for the value.
void refuse_missing_values(int argc, const char* const* argv) {
  for (const std::string word : std::span(argv, static_cast<std::size_t>(argc)))
    if (word.starts_with("--") && word.find('=') + 1 == word.size())
      throw UsageError("There is no value after " + word + ". Write " + word +
                       "VALUE, or leave the option out.");
}

}  // namespace

int run_program(CLI::App& app, int argc, const char* const* argv,
                const std::function<ExitCode()>& body) {
  const auto complain = [&](const std::string& text) {
    // Earlier output must appear above the complaint.
    std::cout.flush();
    std::fflush(stdout);
    std::cerr << app.get_name() << ": " << text << "\n";
  };
  ExitCode exit_code = ExitCode::kEnvironment;
  try {
    refuse_missing_values(argc, argv);
    read_numbers_plainly(app);
    app.parse(argc, argv);
    exit_code = body();
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << "\n";
    exit_code = ExitCode::kPassed;
  } catch (const CLI::ParseError& error) {
    complain(complaint(app, error));
    exit_code = ExitCode::kUsage;
  } catch (const Error& error) {
    complain(error.what());
    exit_code = error.exit_code();
  } catch (const std::filesystem::filesystem_error& error) {
    // Its own text repeats both paths in brackets.
    const auto& place = error.path2().empty() ? error.path1() : error.path2();
    const bool full = error.code() == std::errc::no_space_on_device;
    complain(place.string() + ": " + error.code().message() +
             (full ? "; free some space, then run this again." : "."));
  } catch (const std::bad_alloc&) {
    complain("There is not enough memory; take a smaller batch.");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return static_cast<int>(exit_code);
}

}  // namespace convlab
