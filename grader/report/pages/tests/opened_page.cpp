#include "grader/report/pages/tests/opened_page.hpp"

#include <cstdlib>
#include <stdexcept>

#include "common/base/run_process.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader::testing {

namespace {

namespace fs = std::filesystem;

const fs::path kParts = CONVLAB_SOURCE_DIR "/grader/report/pages";

FinishedProcess run_browser(const std::string& browser, std::vector<std::string> words,
                            const fs::path& folder) {
  words.insert(words.begin(), {"env", "HOME=" + folder.string(), browser, "--headless",
                               "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                               "--user-data-dir=" + (folder / "profile").string()});
  // A container often allows no sandbox, and the page is our own.
  words.insert(words.end() - 1, "--no-sandbox");
  return run_process({.words = words, .time_limit = std::chrono::minutes(2)});
}

// Between two marks; empty if there are none.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto at = text.find(begin);
  const auto to = text.find(end, at);
  if (at == std::string::npos || to == std::string::npos) return {};
  return text.substr(at + begin.size(), to - at - begin.size());
}

// As a reader sees it: without elements, scripts and escapes.
std::string words_of(std::string html) {
  for (const auto& [begin, end] : {std::pair<std::string, std::string>{"<script", "</script>"},
                                   {"<style", "</style>"},
                                   {"<", ">"}}) {
    for (auto at = html.find(begin); at != std::string::npos; at = html.find(begin, at)) {
      const auto to = html.find(end, at);
      if (to == std::string::npos) break;
      html.erase(at, to + end.size() - at);
    }
  }
  for (const auto& [escape, sign] : {std::pair<std::string, std::string>{"&lt;", "<"},
                                     {"&gt;", ">"},
                                     {"&quot;", "\""},
                                     {"&amp;", "&"}}) {
    for (auto at = html.find(escape); at != std::string::npos; at = html.find(escape, at + 1)) {
      html.replace(at, escape.size(), sign);
    }
  }
  return html;
}

}  // namespace

std::optional<std::string> find_browser(std::string& why_not) {
  const char* named = std::getenv("CONVLAB_CHROMIUM");
  const convlab::testing::TemporaryFolder folder;
  const fs::path page = folder.path() / "page.html";
  write_atomically(page, "<p>it opens</p>");
  why_not = "there is no chromium (Debian's package chromium)";
  for (const std::string browser : {named == nullptr ? "" : named, "chromium", "google-chrome"}) {
    if (browser.empty()) continue;
    const FinishedProcess run =
        run_browser(browser, {"--dump-dom", "file://" + page.string()}, folder.path());
    if (run.output.find("it opens") != std::string::npos) return browser;
    // A browser in a box of its own, such as a snap, sees no files of /tmp.
    if (run.exit_code != kNoSuchProgram) why_not = browser + " does not open " + page.string();
  }
  return std::nullopt;
}

OpenedPage opened(const std::string& browser, const Page& page, int width,
                  const fs::path& picture) {
  const convlab::testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "page.html";
  std::string html = html_of(page, kParts);
  if (!picture.empty()) {
    write_atomically(file, html);
    constexpr const char* kHeight = "4000";
    run_browser(
        browser,
        {"--screenshot=" + picture.string(),
         "--window-size=" + std::to_string(width) + "," + kHeight, "file://" + file.string()},
        folder.path());
  }
  // Before all scripts of the page, so that no error is missed.
  html.insert(html.find("<meta charset"),
              "<script>window.wrongThings = [];\n"
              "addEventListener('error', (e) => wrongThings.push('error: ' + e.message));\n"
              "addEventListener('securitypolicyviolation',"
              " (e) => wrongThings.push('refused: ' + e.blockedURI));\n"
              "for (const kind of ['error', 'warn', 'assert'])\n"
              "  console[kind] = (...words) => wrongThings.push('console: ' + words.join(' '));\n"
              "</script>\n");
  html.insert(html.rfind("</body>"),
              "<script>\n" + read_text(kParts / "tests" / "look_at_page.js") + "</script>\n");
  write_atomically(file, html);
  const FinishedProcess run =
      run_browser(browser,
                  {"--virtual-time-budget=10000", "--dump-dom",
                   "--window-size=" + std::to_string(width) + ",1000", "file://" + file.string()},
                  folder.path());
  const std::string seen = between(run.output, "<pre id=\"seen\">seen:", ":end</pre>");
  if (seen.empty()) throw std::runtime_error("the page was not drawn: " + run.errors);
  const auto json = nlohmann::json::parse(words_of(seen));
  const std::string drawn = run.output.substr(0, run.output.find("<pre id=\"seen\">"));
  OpenedPage opened{.text = words_of(drawn)};
  json.at("wrong").get_to(opened.wrong);
  json.at("charts").get_to(opened.charts);
  json.at("marks").get_to(opened.marks);
  json.at("width").get_to(opened.width);
  return opened;
}

}  // namespace convlab::grader::testing
