#include "grader/corpus/runner/mistakes_page.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/whole_file.hpp"

namespace convlab::grader {

namespace {

// What the grader prints about a finding, from its id to the line that names the page.
std::string printed_finding(const ShownMistake& shown) {
  const auto begin = shown.printed.find("  " + shown.mistake.finding + "  ");
  const auto end = shown.printed.find("\n    more ", begin);
  return begin == std::string::npos ? "" : shown.printed.substr(begin, end - begin) + "\n";
}

// In lines of 80 columns, as the page is.
std::string wrapped(std::string text) {
  constexpr std::size_t kColumns = 80;
  for (std::size_t begin = 0; text.size() - begin > kColumns;) {
    const auto space = text.rfind(' ', begin + kColumns);
    if (space == std::string::npos || space <= begin) break;
    text[space] = '\n';
    begin = space + 1;
  }
  return text;
}

}  // namespace

void update_page(const std::filesystem::path& file, std::vector<ShownMistake> shown) {
  const std::string begin_mark = "<!-- example: ";
  const std::string end_mark = "<!-- end of example -->\n";
  std::sort(shown.begin(), shown.end(), [](const ShownMistake& a, const ShownMistake& b) {
    return a.mistake.name < b.mistake.name;
  });
  std::string page = read_text(file);
  std::set<std::string> done;
  for (const ShownMistake& each : shown) {
    const Mistake& mistake = each.mistake;
    const auto section = page.find("\n## " + mistake.finding + "\n");
    if (section == std::string::npos || !done.insert(mistake.finding).second) continue;
    auto next =
        std::min({page.find("\n## ", section + 1), page.find("\n# ", section + 1), page.size()});
    if (const auto old = page.find(begin_mark, section); old < next) {
      const auto end = page.find(end_mark, old) + end_mark.size();
      page.erase(old, end - old);
      next -= end - old;
    }
    std::string body = page.substr(section, next - section);
    while (body.ends_with('\n')) body.pop_back();
    body += "\n\n" + begin_mark + mistake.name + " -->\n\n" + wrapped("Example: " + mistake.what) +
            "\n\n```diff\n";
    body += mistake.change;
    body += "```\n\n```text\n" + printed_finding(each) + "```\n\n" + end_mark;
    page.replace(section, next - section, body);
  }
  write_atomically(file, page);
}

}  // namespace convlab::grader
