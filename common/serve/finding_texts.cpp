#include "common/serve/finding_texts.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

// "ID: title" begins a finding, a word that says which a text; all other lines go on.
std::vector<Diagnosis> read_texts() {
  std::vector<Diagnosis> all;
  std::string* text = nullptr;
  std::istringstream lines(read_text(CONVLAB_SOURCE_DIR "/common/serve/findings.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (const auto colon = line.find(':'); line[0] != ' ') {
      all.push_back({.id = line.substr(0, colon), .title = trimmed(line.substr(colon + 1))});
      continue;
    }
    constexpr std::size_t kText = 8;
    const std::string begins = trimmed(line.substr(0, kText));
    if (!begins.empty()) {
      text = begins == "next"                       ? &all.back().next
             : begins == "kind"                     ? &all.back().kinds
             : begins == "seen" || begins == "line" ? &all.back().seen
                                                    : &all.back().cause;
    }
    if (begins == "line") {
      *text += '\n';
    } else if (!text->empty() || begins == "more") {
      *text += ' ';
    }
    *text += line.substr(kText);
  }
  return all;
}

}  // namespace

const std::vector<Diagnosis>& catalogue() {
  static const std::vector<Diagnosis> all = [] {
    std::vector<Diagnosis> findings = read_texts();
    std::erase_if(findings,
                  [](const Diagnosis& each) { return each.id.find('/') != each.id.npos; });
    return findings;
  }();
  return all;
}

Diagnosis variant(const std::string& name, const std::vector<std::string>& values) {
  static const std::vector<Diagnosis> all = read_texts();
  const auto found = std::ranges::find(all, name, &Diagnosis::id);
  if (found == all.end() || name.find('/') == name.npos) {
    throw std::out_of_range("no variant " + name);
  }
  Diagnosis says = *found;
  for (std::string* text : {&says.seen, &says.cause, &says.next}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string mark = "{" + std::to_string(i) + "}";
      for (auto at = text->find(mark); at != std::string::npos;
           at = text->find(mark, at + values[i].size())) {
        text->replace(at, mark.size(), values[i]);
      }
    }
  }
  return says;
}

}  // namespace convlab
