#include "grader/cli/commands.hpp"

namespace convlab::grader {

void add_class(CLI::App& app, ExitCode& /*exit_code*/) {
  CLI::App* command = app.add_subcommand("class");
  command->allow_extras();
  command->callback([] {
    throw EnvironmentError(
        "This grader was built without " CONVLAB_CLASS_MISSING
        "; install it (common/setup/lab setup), then configure and build again.");
  });
}

}  // namespace convlab::grader
