#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/pages/report.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

namespace {

const std::filesystem::path kParts = CONVLAB_SOURCE_DIR "/grader/report/pages";

}  // namespace

TEST_CASE("page: every kind of block, as Markdown and as HTML") {
  const Chart chart{
      {.title = "Times",
       .x = {.title = "batch"},
       .panels = {{.series = {{.label = "</script><b><!--", .marks = {{100, 1.5, 1.5, 1.5}}},
                              {.label = "x", .marks = {{1000, 2, 2, 2}}}}}}}};
  const Page page{.title = "A <page>",
                  .subtitle = "s",
                  .sections = {{.title = "Kernels & calls",
                                .blocks = {Paragraph{"a < b"}, OpenQuestion{"Why?"},
                                           OpenQuestion{"How?", "So."}, chart,
                                           Table{.heading = {"h"}, .rows = {{"r"}}}}}}};
  const std::string markdown = markdown_of(page);
  CHECK(contains(markdown, "## Kernels &amp; calls"));
  CHECK(contains(markdown, "**Why?**\n\n> TODO: your answer"));
  CHECK(contains(markdown, "**How?**\n\nSo.\n"));
  CHECK(contains(markdown, "| 100 | 1.50 |  |\n| 1000 |  | 2 |"));
  const std::string html = html_of(page, kParts);
  CHECK(contains(html, "<title>A &lt;page&gt;</title>"));
  CHECK(contains(html, "<section id=\"kernels-calls\">"));
  // Nothing in the data ends its script element.
  CHECK_FALSE(contains(html, "</script><b>"));
  CHECK_FALSE(contains(html, "<!--"));
  // It opens without a network.
  CHECK_FALSE(contains(html, "src=\"http"));
  CHECK_FALSE(contains(html, "href=\"http"));
  CHECK(contains(html, "Copyright 2010-2023 Mike Bostock"));
}

TEST_CASE("pages: on a terminal a line of source code goes on under its beginning") {
  const std::string code(90, 'x');
  const Page page{
      .title = "P",
      .sections = {{.title = "S", .blocks = {Paragraph{"a " + code + " b", "c.cu:7 | "}}}}};
  CHECK(contains(terminal_text(page), "\n  c.cu:7 | a\n           x"));
  CHECK(contains(html_of(page, kParts), "<p>c.cu:7 | a x"));
}

TEST_CASE("report: what the results hold, and open questions for the rest") {
  const Result result = plotted_result({plotted_run("a", 1, 100, {4.0, 4.1}, {4.0, 4.1}),
                                        plotted_run("b", 2, 100, {2.0, 2.1}, {2.0, 2.1}),
                                        plotted_run("b", 2, 1000, {20.0, 21.0}, {20.0, 21.0})},
                                       "m4");
  const ReportSource source{.milestone = "m4",
                            .title = "Faster",
                            .results = {result},
                            .names = {"mine"},
                            .mistakes = {{.stage = "a",
                                          .id = "E-stride",
                                          .title = "the stride is ignored",
                                          .seen = "1",
                                          .mended = "2026-11-24T12:56:44Z",
                                          .checks = 3}},
                            .sweeps = {{"Sweep of it.", {.heading = {"maps"}, .rows = {{"9"}}}}}};
  const std::string markdown = markdown_of(make_report(source));
  for (const char* part :
       {"# Report on m4: Faster", "## Machine", "Some CPU", "## Method", "## Correctness",
        "## Times", "| m4 b | 2.05 | 2.05 | 4.10 |", "Sweep of it.", "| 9 |",
        "| E-stride: the stride is ignored | a | 1 | 2026-11-24 12:56 | 3 |"}) {
    INFO(part);
    CHECK(contains(markdown, part));
  }
  const ReportSource empty{.milestone = "m1", .results = {plotted_result({})}, .names = {"x"}};
  const std::string failed = markdown_of(make_report(empty));
  CHECK(contains(failed, "no stage has passed, and only what passes is timed."));
  CHECK_FALSE(contains(failed, "without a GPU"));
  CHECK_FALSE(contains(failed, "GPU is idle"));
  RunResult emulated = plotted_run("a", 1, 100, {}, {});
  emulated.device = Device::kEmulated;
  const ReportSource without{
      .milestone = "m2", .results = {plotted_result({emulated})}, .names = {"x"}};
  const std::string emulation = markdown_of(make_report(without));
  CHECK(contains(emulation, "they were made without a GPU."));
  // Nothing is said or asked of times that are not there.
  for (const char* of_times : {"GPU is idle", "the numbers above", "while you measured"})
    CHECK_FALSE(contains(emulation, of_times));
}
