#include "common/base/run_program.hpp"

#include <algorithm>
#include <charconv>
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
  // What is no number was refused before.
  const std::string could_not = "Could not convert: ";
  if (const auto value = text.find(" = "); text.starts_with(could_not) && value < text.size()) {
    return text.substr(could_not.size(), value - could_not.size()) + ": Value " +
           text.substr(value + 3) + " is too large.";
  }
  const auto range = text.find(" not in range ");
  const auto has = [&](const char* end) { return text.find(end, range) != std::string::npos; };
  if (range == std::string::npos || !(has("17976931") || has("e+308"))) return text;
  return text.substr(0, range) + " is too small.";
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

/// Numbers as a person writes them: CLI11 also reads 010 as 8, 0x10 as 16 and "nan", which passes
/// every range.
std::string plain_number(std::string& text, bool is_whole) {
  constexpr const char* kDigits = "0123456789";
  const auto begin = text.starts_with('-') ? 1U : 0U;
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const bool is_number = text.find_first_of(kDigits, begin) == begin &&
                         std::from_chars(text.data(), end, number).ptr == end;
  if (!is_number ||
      text.find_first_not_of(is_whole ? kDigits : "0123456789.eE-", begin) != text.npos) {
    return "'" + text +
           (is_whole ? "' is no whole number; write digits, like 12."
                     : "' is no number; write it as 3.5.");
  }
  const auto first = std::min(text.find_first_not_of('0', begin), text.size() - 1);
  if (is_whole) text.erase(begin, first - begin);
  return {};
}

void read_numbers_plainly(CLI::App& app) {
  const auto plain = [](bool is_whole) {
    return CLI::Validator([=](std::string& text) { return plain_number(text, is_whole); }, "");
  };
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool is_whole = type.starts_with("INT") || type.starts_with("UINT");
    if (is_whole || type.starts_with("FLOAT")) option->transform(plain(is_whole));
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
