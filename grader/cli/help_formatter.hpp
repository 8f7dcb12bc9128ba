#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace convlab::grader {

/// CLI11's help, with descriptions that wrap at 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* subcommand) const override;
};

}  // namespace convlab::grader
