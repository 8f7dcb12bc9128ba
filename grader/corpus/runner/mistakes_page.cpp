#include "grader/corpus/runner/mistakes_page.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
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

// Of a whole number of per cent, rounded.
std::string per_cent(int part, int whole) {
  return std::to_string((100 * part + whole / 2) / std::max(1, whole)) + " %";
}

}  // namespace

std::string shares_table(const std::vector<Mistake>& mistakes) {
  constexpr std::size_t kShares = 5;
  std::map<std::string, std::array<int, kShares>> counts;
  for (const Mistake& each : mistakes) {
    const auto share = static_cast<std::size_t>(each.share);
    ++counts[each.milestone][share];
    ++counts["together"][share];
  }
  std::string table =
      "| | mistakes | A: cause and place | B: one of them | C: neither | D: something false | E: "
      "passes | A | A and B |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, row] : counts) {
    const int all = std::accumulate(row.begin(), row.end(), 0);
    table += "| " + name + " | " + std::to_string(all);
    for (const int count : row) table += " | " + std::to_string(count);
    table += " | " + per_cent(row[0], all) + " | " + per_cent(row[0] + row[1], all) + " |\n";
  }
  return table;
}

void update_page(const std::filesystem::path& file, std::vector<ShownMistake> shown,
                 const std::string& table) {
  const std::string begin_mark = "<!-- example: ";
  const std::string end_mark = "<!-- end of example -->\n";
  std::sort(shown.begin(), shown.end(), [](const ShownMistake& a, const ShownMistake& b) {
    return a.mistake.name < b.mistake.name;
  });
  std::string page = read_text(file);
  const std::string table_mark = "<!-- shares -->\n";
  const auto table_begin = page.find(table_mark);
  const auto table_end = page.find("<!-- end of shares -->");
  if (!table.empty() && table_end != std::string::npos) {
    const auto first = table_begin + table_mark.size();
    page.replace(first, table_end - first, table);
  }
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
