#include "common/command_line/run_program.hpp"

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

namespace convlab {
namespace {

// CLI11 says "Could not convert: --epochs = x", which names no mend.
std::string sentence(const CLI::ParseError& error) {
  std::string text = error.what();
  const std::string could_not = "Could not convert: ";
  const std::string equals = " = ";
  const auto value = text.find(equals);
  if (!text.starts_with(could_not) || value == std::string::npos) return text;
  return text.substr(could_not.size(), value - could_not.size()) + " takes a number, not '" +
         text.substr(value + equals.size()) + "'.";
}

}  // namespace

int run_program(CLI::App& app, int argc, const char* const* argv,
                const std::function<ExitCode()>& body) {
  const auto complain = [&](const std::string& text) {
    // What the program has said so far stays above the complaint.
    std::cout.flush();
    std::fflush(stdout);
    std::cerr << app.get_name() << ": " << text << "\n";
  };
  ExitCode exit_code = ExitCode::kEnvironment;
  try {
    app.parse(argc, argv);
    exit_code = body();
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << "\n";
    exit_code = ExitCode::kPassed;
  } catch (const CLI::ParseError& error) {
    complain(sentence(error) + "\nSee " + app.get_name() + " --help.");
    exit_code = ExitCode::kUsage;
  } catch (const Error& error) {
    complain(error.what());
    exit_code = error.exit_code();
  } catch (const std::bad_alloc&) {
    complain("There is not enough memory; take a smaller batch.");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return static_cast<int>(exit_code);
}

}  // namespace convlab
