#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "common/base/error.hpp"

namespace convlab {

/// What every `main` does: it parses the arguments, runs `body`, and turns an exception into one
/// sentence on standard error, "NAME: …". `--help` prints the help and returns 0.
/// @return the exit code for the shell: `body`'s, an Error's own, kUsage for a wrong command line,
///   kEnvironment for lack of memory and for any other exception
int run_program(CLI::App& app, int argc, const char* const* argv,
                const std::function<ExitCode()>& body);

}  // namespace convlab
