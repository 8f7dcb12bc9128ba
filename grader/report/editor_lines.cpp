#include "grader/report/editor_lines.hpp"

#include <cctype>
#include <utility>

#include "common/base/text.hpp"
#include "common/serve/source_text.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

/// A line of a source, and what is said of it.
struct Said {
  fs::path file{};
  int line = 1;
  std::size_t column = 1;
  std::string text{};
};

// A formula has a line of its own: what follows it begins a sentence.
std::string one_line(const std::string& text) {
  std::string line;
  bool is_formula = false;
  for (const std::string& each : lines_of(text)) {
    const std::string part = trimmed(each);
    if (part.empty()) continue;
    const bool begins = std::isupper(static_cast<unsigned char>(part.front())) != 0;
    line += (line.empty() ? "" : is_formula && begins ? ". " : " ") + part;
    is_formula = each.front() == ' ';
  }
  return line;
}

class Lines {
 public:
  Lines(const std::vector<fs::path>& sources, const fs::path& root)
      : sources_(sources), root_(root), texts_(sources) {}

  // The first line says what is wrong and why, in a line of an editor's list; each line that is
  // quoted gets a note, and so does what was seen beside them.
  std::vector<Said> of(const Finding& finding) const {
    std::vector<Said> all = {at(sources_.empty() ? "" : sources_.front().filename().string(), 1)};
    bool has_place = false;
    const auto place = [&](const std::string& file, int line) {
      const Said said = at(file, line);
      if (!std::exchange(has_place, true)) all.front() = said;
      return said;
    };
    for (const Mend& mend : finding.mends) {
      if (!mend.lines.empty()) place(mend.file, static_cast<int>(mend.lines.front()));
    }
    std::string said;
    std::vector<std::pair<Said, std::string>> notes;
    const std::string title = finding.title + " [" + finding.id + "]";
    std::size_t row = 0;
    std::size_t end_of_quote = 0;
    auto quoted = finding.seen.places().begin();
    for (const std::string& line : lines_of(finding.seen.text())) {
      if (quoted != finding.seen.places().end() && quoted->row == row) {
        notes.emplace_back(place(quoted->file, quoted->line), std::exchange(said, ""));
        end_of_quote = row + quoted->rows;
        ++quoted;
      } else if (row >= end_of_quote) {
        said += line + "\n";
      }
      ++row;
    }
    std::string lead = one_line(finding.cause);
    if (lead.empty())
      lead = one_line(std::exchange(notes.empty() ? said : notes.front().second, ""));
    all.front().text = title + (lead.empty() ? "" : ": " + lead);
    std::string caption = "see also";  // of several lines, which the first of them has
    for (std::size_t i = 0; i < notes.size(); ++i) {
      const std::string text = one_line(notes[i].second);
      if (i == 0 && text.empty()) continue;
      if (!text.empty()) caption = text.ends_with(':') ? text.substr(0, text.size() - 1) : text;
      all.push_back(notes[i].first);
      all.back().text = caption;
    }
    for (const std::string& text : {one_line(said), one_line(smallest_case_text(finding)),
                                    mend_lines_text(finding), one_line(finding.next)}) {
      if (text.empty()) continue;
      all.push_back(all.front());
      all.back().text = text;
    }
    return all;
  }

 private:
  Said at(const std::string& name, int line) const {
    Said said{.file = name, .line = line};
    for (const fs::path& source : sources_) {
      const auto path = source.lexically_proximate(root_);
      if (source.filename() == name) said.file = *path.begin() == ".." ? source : path;
    }
    const auto lines = texts_.lines(name);
    const auto index = static_cast<std::size_t>(line) - 1;
    if (index < lines.size()) said.column = after_spaces(lines[index], 0) + 1;
    return said;
  }

  const std::vector<fs::path>& sources_;
  const fs::path& root_;
  SourceText texts_;
};

// What GitHub would take for the end of a part.
std::string escaped(const std::string& text, const std::string& special) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    if (special.find(c) == std::string::npos) {
      result += c;
    } else {
      result += std::string("%") + kDigits[c >> 4] + kDigits[c & 15];
    }
  }
  return result;
}

}  // namespace

std::string editor_lines(const CheckResult& check, const std::string& format,
                         const std::vector<fs::path>& sources, const fs::path& root) {
  const Lines lines(sources, root);
  std::string text;
  for (const auto* findings : {&check.findings, &check.warnings}) {
    const std::string kind = findings == &check.findings ? "error" : "warning";
    for (const Finding& finding : *findings) {
      const std::vector<Said> all = lines.of(finding);
      const Said& first = all.front();
      if (format == "github") {
        std::string body;
        for (std::size_t i = 1; i < all.size(); ++i) body += all[i].text + "\n";
        text += "::" + kind + " file=" + escaped(first.file.string(), "%,:") +
                ",line=" + std::to_string(first.line) + ",col=" + std::to_string(first.column) +
                ",title=" + escaped(first.text, "%\r\n,:") + "::" + escaped(body, "%\r\n") + "\n";
        continue;
      }
      for (const Said& said : all) {
        text += said.file.string() + ":" + std::to_string(said.line) + ":" +
                std::to_string(said.column) + ": " + (&said == &first ? kind : "note") + ": " +
                said.text + "\n";
      }
    }
  }
  return text;
}

}  // namespace convlab::grader
