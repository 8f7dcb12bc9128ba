#include "common/serve/finding_texts.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

// "ID: title" begins a finding, a word that says which a text; all other lines go on.
std::vector<FindingWords> read_texts() {
  std::vector<FindingWords> all;
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
             : begins == "look"                     ? &all.back().look
             : begins == "skip"                     ? &all.back().skip
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

const std::vector<FindingWords>& catalogue() {
  static const std::vector<FindingWords> all = [] {
    std::vector<FindingWords> findings = read_texts();
    std::erase_if(findings,
                  [](const FindingWords& each) { return each.id.find('/') != each.id.npos; });
    return findings;
  }();
  return all;
}

namespace {

const FindingWords* find_variant(const std::string& name) {
  static const std::vector<FindingWords> all = read_texts();
  const auto found = std::ranges::find(all, name, &FindingWords::id);
  return found == all.end() || name.find('/') == name.npos ? nullptr : &*found;
}

}  // namespace

static bool has_kind(const FindingWords& words, const std::string& kind) {
  // Not find_word: a kind may hold another one, "before-race".
  return (" " + words.kinds + " ").find(" " + kind + " ") != std::string::npos;
}

std::set<std::string> ids_of_kind(const std::string& kind) {
  std::set<std::string> ids;
  for (const FindingWords& words : catalogue()) {
    if (has_kind(words, kind)) ids.insert(words.id);
  }
  return ids;
}

bool is_of_kind(const Finding& finding, const std::string& kind) {
  const auto known = std::ranges::find(catalogue(), finding.id, &FindingWords::id);
  return known != catalogue().end() && has_kind(*known, kind);
}

bool is_variant(const std::string& name) {
  return find_variant(name) != nullptr;
}

std::string filled_in(std::string text, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string mark = "{" + std::to_string(i);
    for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
      const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz -", at + mark.size());
      if (end == text.npos || text[end] != '}') {
        at += mark.size();
        continue;
      }
      const std::string thing = trimmed(text.substr(at + mark.size(), end - at - mark.size()));
      const std::string value = thing.empty() ? values[i] : count_of(values[i], thing);
      text.replace(at, end + 1 - at, value);
      at += value.size();
    }
  }
  return text;
}

Finding said(const std::string& variant, const std::vector<std::string>& values) {
  const FindingWords* words = find_variant(variant);
  if (words == nullptr) throw std::out_of_range("no variant " + variant);
  Finding says{.id = variant.substr(0, variant.find('/')),
               .variant = variant,
               .values = values,
               .title = words->title,
               .seen = filled_in(words->seen, values),
               .cause = words->cause,
               .next = words->next};
  for (std::string* text : {&says.cause, &says.next}) *text = filled_in(*text, values);
  return says;
}

std::string with_milestone(std::string text, const std::string& milestone) {
  constexpr std::string_view kMark = "MILESTONE";
  for (auto at = text.find(kMark); at != text.npos; at = text.find(kMark)) {
    text.replace(at, kMark.size(), milestone);
  }
  return text;
}

std::string for_sources(std::string text, const SourceText& sources) {
  constexpr std::string_view kMark = "{if ";
  for (auto at = text.find(kMark); at != text.npos; at = text.find(kMark, at)) {
    const auto colon = text.find(": ", at);
    const auto end = text.find('}', at);
    if (end == text.npos || colon > end) break;
    std::istringstream words(text.substr(at + kMark.size(), colon - at - kMark.size()));
    bool holds = false;
    for (std::string word; words >> word;) holds |= sources.has(word);
    text.replace(at, end + 1 - at, holds ? text.substr(colon + 2, end - colon - 2) : "");
    // The blank between two sentences, of which one is not said.
    const auto is_blank = [&](std::size_t place) {
      return place >= text.size() || text[place] == ' ';
    };
    if (!holds && at > 0 && text[at - 1] == ' ' && is_blank(at)) text.erase(--at, 1);
  }
  return text;
}

void address(Finding& finding, const std::string& milestone, const SourceText& sources) {
  for (std::string* text : {&finding.cause, &finding.next}) {
    *text = for_sources(with_milestone(*text, milestone), sources);
  }
}

void say(Finding& finding, const std::string& variant, const std::vector<std::string>& values) {
  const Finding says = said(variant, values);
  finding.id = says.id;
  finding.variant = variant;
  finding.values = values;
  finding.cause =
      says.cause.starts_with(' ') || says.cause.empty() ? finding.cause + says.cause : says.cause;
  if (!says.next.empty()) finding.next = says.next;
}

}  // namespace convlab
