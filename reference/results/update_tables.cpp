// Makes the tables of Markdown pages from result files.
//
//     build/bin/update_tables README.md
//     build/bin/update_tables --check README.md docs/*.md     exit 1 if one is not up to date

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "reference/results/result_table.hpp"

namespace {

// Returns the number of pages that were not up to date.
int update(const std::vector<std::filesystem::path>& pages, bool check) {
  int stale = 0;
  for (const std::filesystem::path& page : pages) {
    const std::string before = convlab::read_text(page);
    const std::string after = convlab::with_tables(before, [&](const std::string& file) {
      return convlab::read_result(page.parent_path() / file);
    });
    if (after == before) continue;
    ++stale;
    if (check) {
      std::printf("%s is not up to date: build/bin/update_tables %s\n", page.c_str(), page.c_str());
    } else {
      convlab::write_atomically(page, after);
      std::printf("%s: tables made anew\n", page.c_str());
    }
  }
  return stale;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Makes the tables of Markdown pages anew from result files.", "update_tables");
  std::vector<std::filesystem::path> pages;
  bool check = false;
  app.add_option("PAGE", pages, "Markdown pages; a result file is named relative to its page")
      ->required();
  app.add_flag("--check", check, "Change nothing; exit code 1 if a page is not up to date");
  app.footer(
      "A table stands between the lines\n"
      "  <!-- results: reference/results/m1.json -->\n"
      "  <!-- end of results -->\n"
      "With `layers` instead of `results` it shows each convolution by itself, with `limits` what\n"
      "part of each stage's time the limit is, for files of several GPUs; a table of some\n"
      "stages begins with\n"
      "  <!-- results: m3.json m4.json stages: restrict-unroll winograd -->");
  return convlab::run_program(app, argc, argv, [&] {
    const int stale = update(pages, check);
    return check && stale > 0 ? convlab::ExitCode::kFallsShort : convlab::ExitCode::kPassed;
  });
}
