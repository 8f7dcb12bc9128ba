#include "grader/checks/build_mend.hpp"

#include <algorithm>
#include <filesystem>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;
using std::string;

/// A file that is changed line by line.
class Mender {
 public:
  Mender(const BuildError& error, const string& text)
      : error_(error), lines_(lines_of(text)), at_(static_cast<std::size_t>(error.line) - 1) {}

  std::vector<BuildMend> all() && {
    if (at_ >= lines_.size()) return {};
    for (const auto& fix : error_.fixes) propose(fix);
    slips();
    if (error_.text.find("'}'") != string::npos || error_.text.find("end of input") != string::npos)
      braces();
    expected();
    for (const string& name : quoted(error_.text)) headers(name);
    return std::move(mends_);
  }

 private:
  static std::vector<string> quoted(const string& text) {
    std::vector<string> words;
    for (auto begin = text.find('\''); begin != string::npos;) {
      const auto end = text.find('\'', begin + 1);
      if (end == string::npos) break;
      words.push_back(text.substr(begin + 1, end - begin - 1));
      begin = text.find('\'', end + 1);
    }
    return words;
  }

  static string in_line(std::size_t line) { return "line " + std::to_string(line + 1); }

  void add(const string& words, std::size_t line, const string& changed, bool is_include = false) {
    constexpr std::size_t kMost = 8;
    if (changed == lines_[line] || mends_.size() == kMost) return;
    std::vector<string> lines = lines_;
    lines[line] = changed;
    string text;
    for (const string& each : lines) text += each + "\n";
    if (std::ranges::find(mends_, text, &BuildMend::text) == mends_.end()) {
      mends_.push_back({words, text, is_include ? error_.line : static_cast<int>(line) + 1});
    }
  }

  void insert(std::size_t line, std::size_t column, const string& what) {
    string changed = lines_[line];
    const bool at_end = trimmed(changed.substr(column)).empty();
    changed.insert(column, what);
    add("with `" + trimmed(what) + "` " + (at_end ? "at the end of " : "in ") + in_line(line), line,
        changed);
  }

  void replace(std::size_t line, const string& from, const string& to) {
    const auto column = lines_[line].find(from);
    if (column == string::npos) return;
    string changed = lines_[line];
    changed.replace(column, from.size(), to);
    add(to.empty() ? "without the `" + trimmed(from) + "` of " + in_line(line)
                   : "with `" + to + "` in place of `" + from + "` in " + in_line(line),
        line, changed);
  }

  void propose(const BuildError::FixIt& fix) {
    const auto line = static_cast<std::size_t>(fix.line) - 1;
    if (line >= lines_.size() || fix.begin < 1) return;
    if (fix.text.ends_with("\n")) {
      return add(
          "with `" + trimmed(fix.text.substr(0, fix.text.size() - 1)) + "` at the top of the file",
          line, fix.text + lines_[line], true);
    }
    if (fix.end > lines_[line].size() + 1 || fix.end < fix.begin) return;
    if (fix.begin == fix.end) insert(line, fix.begin - 1, fix.text);
  }

  // Where what stands before a place ends, without comments and empty lines.
  std::pair<std::size_t, std::size_t> end_before(std::size_t line, std::size_t column) const {
    string part = lines_[line].substr(0, std::min(column, lines_[line].size()));
    for (;;) {
      part.resize(std::min(part.find("//"), part.size()));
      while (!part.empty() && (part.back() == ' ' || part.back() == '\t')) part.pop_back();
      if (!part.empty() || line == 0) return {line, part.size()};
      part = lines_[--line];
    }
  }

  // The tokens of "expected ',' or ';' before 'for'", each where the compiler misses it, and at the
  // ends of the line and of what stands before it; then the token that it does not expect.
  void expected() {
    const auto before =
        std::min({error_.text.find(" before "), error_.text.find(" at end "), error_.text.size()});
    std::vector<string> tokens = {";"};
    for (const string& token : quoted(error_.text.substr(0, before))) {
      if (token.size() == 1 && token != "," && token != "{" && token != "}")
        tokens.push_back(token);
    }
    const auto words = quoted(error_.text.substr(before));
    const auto column = error_.column < 1 ? string::npos : error_.column - 1;
    const bool is_expected =
        before < error_.text.size() || error_.text.find("expected") != string::npos;
    if (!is_expected && error_.text.find("declarator") == string::npos) return;
    std::rotate(tokens.begin(), tokens.end() - 1, tokens.end());
    for (const string& token : tokens) {
      for (const auto& [line, end] :
           {end_before(at_, column), end_before(at_, 0), end_before(at_, string::npos)}) {
        insert(line, end, token);
      }
    }
    if (!words.empty() && !is_word(words[0][0])) replace(at_, words[0], "");
  }

  static std::size_t indent_of(const string& line) { return after_spaces(line, 0); }

  // The line where the head of a block begins, whose parameters may take several.
  std::size_t beginning_of(std::size_t line) const {
    constexpr std::size_t kLongest = 20;
    std::ptrdiff_t closed = 0;
    for (std::size_t i = 0; i < kLongest; ++i, --line) {
      closed += std::ranges::count(lines_[line], ')') - std::ranges::count(lines_[line], '(');
      if (closed <= 0 || line == 0) break;
    }
    return line;
  }

  // A brace that is missing or too much, where it does not fit the indentation.
  void braces() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const string line = trimmed(lines_[i].substr(0, lines_[i].find("//")));
      if (line.starts_with("}") && !open.empty()) {
        const std::size_t wanted = indent_of(lines_[open.back()]);
        if (indent_of(lines_[i]) < wanted) {
          return add("with `}` before " + in_line(i) + ", for the `{` of " + in_line(open.back()),
                     i, string(wanted, ' ') + "}\n" + lines_[i]);
        }
        if (indent_of(lines_[i]) > wanted) return replace(i, "}", "");
      }
      for (const char c : line) {
        if (c == '{') open.push_back(beginning_of(i));
        if (c == '}' && open.empty()) return replace(i, "}", "");
        if (c == '}') open.pop_back();
      }
    }
    if (!open.empty()) {
      const std::size_t last = lines_.size() - 1;
      add("with `}` at the end of the file, for the `{` of " + in_line(open.back()), last,
          lines_[last] + "\n}");
    }
  }

  void slips() {
    const string& line = lines_[at_];
    if (line.find("<<<") == string::npos) {
      string changed = line;
      for (const auto& [from, to] : {std::pair{"<<", "<<<"}, {">>", ">>>"}}) {
        const auto column = changed.find(from);
        if (column != string::npos && changed.find(to) == string::npos)
          changed.replace(column, 2, to);
      }
      add("with `<<<` and `>>>` around the launch in " + in_line(at_), at_, changed);
    } else if (line.find(">>>") == string::npos) {
      replace(at_, ">>", ">>>");
    }
    if (line.find("extern") == string::npos) replace(at_, "__shared__", "extern __shared__");
    // A macro that ends with ; puts it wherever it is used.
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const string text = trimmed(lines_[i]);
      const string name = text.starts_with("#define ") ? word_at(text, 8) : "";
      const bool is_used = i == at_ || find_word(line, name) != string::npos;
      if (!name.empty() && text.ends_with(";") && is_used) replace(i, ";", "");
    }
    const auto names = quoted(error_.text);
    const bool has_similar = error_.text.find("did you mean") != string::npos && names.size() > 1;
    if (has_similar) replace(at_, names.front(), names.back());
    for (const string& name : names) {
      const string word = name.substr(name.rfind(':') + 1);
      const auto column = find_word(line, word);
      if (word.empty() || word != word_at(word, 0) || column == string::npos) continue;
      if (error_.text.find("member") != string::npos || error_.text.find("::)") != string::npos) {
        replace(at_, word, word + "()");
      }
      replace(at_, word + "()", word);
      if (error_.text.find("captured") != string::npos) replace(at_, "[]", "[&]");
    }
    if (error_.text.find("as a function") != string::npos) replace(at_, "()", "");
    replace(at_, " == ", " = ");
    if (error_.text.find("lvalue") != string::npos) replace(at_, " = ", " == ");
    if (error_.text.find("from 'const ") != string::npos) {
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        const auto star = lines_[i].find("* ");
        const string name = star == string::npos ? "" : word_at(lines_[i], star + 2);
        const bool is_given = find_word(line, name) != string::npos && i != at_;
        if (!name.empty() && is_given) replace(i, "const ", "");
      }
      replace(at_, "float*", "const float*");
    }
    const auto call = error_.text.find("function for call to '");
    if (call != string::npos) {
      const string name = word_at(error_.text, call + 22);
      replace(at_, name + "(", name + "(&");
    }
    close_macro();
  }

  // A parenthesis is missing where a macro is used.
  void close_macro() {
    if (const auto macro = error_.text.find("invoking macro \""); macro != string::npos) {
      const string name = word_at(error_.text, macro + 16);
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        const auto opened = std::ranges::count(lines_[i], '(');
        if (find_word(lines_[i], name) != string::npos && lines_[i].ends_with(";") &&
            opened > std::ranges::count(lines_[i], ')')) {
          insert(i, lines_[i].size() - 1, ")");
        }
      }
    }
  }

  // The headers of CUDA and of the workbook in which a name stands.
  void headers(const string& name) {
    if (name.empty() || word_at(name, 0) != name) return;
    std::vector<string> includes;
    for (const string folder : {"common/emulation/include", "common/device", "common/stage"}) {
      for (const auto& entry : fs::directory_iterator(workbook_folder() / folder)) {
        const fs::path& file = entry.path();
        // Not what is compiled by itself.
        if (!file.extension().string().starts_with(".h") && file.extension() != ".cuh") continue;
        const string text = read_text(file);
        if (find_word(text, name) == string::npos) continue;
        const string base = file.filename().string();
        const string include = "#include " + (folder == "common/emulation/include"
                                                  ? "<" + base + ">"
                                                  : "\"" + folder + "/" + base + "\"");
        // What defines a macro comes before what uses it.
        const bool defines = text.find("#define " + name) != string::npos;
        includes.insert(defines ? includes.begin() : includes.end(), include);
      }
    }
    for (const string& include : includes) {
      if (std::ranges::find(lines_, include) == lines_.end())
        add("with `" + include + "` at the top of the file", 0, include + "\n" + lines_[0], true);
    }
  }

  const BuildError& error_;
  std::vector<string> lines_;
  std::size_t at_;
  std::vector<BuildMend> mends_{};
};

}  // namespace

std::vector<BuildMend> build_mends(const BuildError& error, const string& text) {
  return error.line < 1 ? std::vector<BuildMend>() : Mender(error, text).all();
}

}  // namespace convlab::grader
