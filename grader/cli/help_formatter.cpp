#include "grader/cli/help_formatter.hpp"

#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// A name that is too long for its column has a line of its own.
std::string entry(const std::string& name, const std::string& description) {
  constexpr int kNameWidth = 24;
  const std::string label = "  " + name;
  if (display_width(label) < kNameWidth) {
    return hanging(left(label, kNameWidth), kNameWidth, description);
  }
  return label + "\n" + hanging(left("", kNameWidth), kNameWidth, description);
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return entry(make_option_name(option, is_positional) + make_option_opts(option),
               make_option_desc(option));
}

std::string HelpFormatter::make_subcommand(const CLI::App* subcommand) const {
  return entry(subcommand->get_name(), subcommand->get_description());
}

}  // namespace convlab::grader
