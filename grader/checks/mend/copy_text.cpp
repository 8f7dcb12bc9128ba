// How copies of a file, and macros with edits, stand in the edited file.

#include <algorithm>
#include <string>

#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

namespace {

constexpr std::size_t kMostCopies = 32;

// What the edited program calls the copy.
std::string space_of(std::size_t copy) {
  return "convlab_mend_" + std::to_string(copy);
}

}  // namespace

// Its lines #include go, where several copies stand in one file.
std::string EditableFile::without_includes(const std::string& text, std::string* includes) const {
  std::string rest;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t begin = line.find_first_not_of(" \t");
    const bool is_directive = begin != std::string::npos && line[begin] == '#';
    const bool goes = is_directive && (line.find("include") != std::string::npos ||
                                       line.find("pragma once") != std::string::npos);
    if (goes && includes != nullptr) *includes += line + "\n";
    rest += (goes ? "" : line) + "\n";
    at = end + 1;
  }
  return rest;
}

void EditableFile::add_copies() {
  copies_ = outline_.sites.size();
  outline_.sites.push_back({.form = Site::Form::kCopy});
  alternatives_.emplace_back();
  dropped_sites_.push_back(false);
  names_.emplace_back();
  for (std::size_t i = 0; i + 1 < source_.size(); ++i) {
    if (is_condition_of_preprocessor(i)) return;
  }
  for (const CopyChange& each : copy_changes_of(source_, outline_, kMostCopies)) add_copy(each);
}

// A file that is compiled in parts has none.
bool EditableFile::is_condition_of_preprocessor(std::size_t i) const {
  return source_.is(i, "#") && source_[i].directive != 0 && source_[i + 1].text.starts_with("if");
}

void EditableFile::add_copy(const CopyChange& change) {
  const auto offset_of = [&](std::size_t token) {
    return token < source_.size() ? source_[token].offset : text_.size();
  };
  const auto line_of = [](const std::string& all, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : all.rfind('\n', at - 1) + 1;
    return tidy(all.substr(begin, all.find('\n', at) - begin));
  };
  std::string text;
  std::size_t at = 0;
  Edit edit{.kind = change.kind};
  std::vector<std::pair<std::size_t, std::size_t>> changed;  // offsets before and afterwards
  for (const Splice& each : change.splices) {
    const std::size_t begin = offset_of(each.begin);
    text += text_.substr(at, begin - at);
    if ((change.told.empty() || edit.lines.empty()) &&
        edit.lines.insert(source_[std::min(each.begin, source_.size() - 1)].line).second)
      changed.emplace_back(begin, text.size());
    text += each.text;
    at = each.end > each.begin ? source_[each.end - 1].end() : begin;
    if (change.moved_to == 0 || each.end == each.begin) continue;
    edit.before = tidy(source_.text(each.begin, each.end));
    edit.after = moved_text(source_[change.moved_to].line);
  }
  text += text_.substr(at);
  for (const auto& [before, after] : changed) {
    if (change.moved_to != 0) break;
    edit.before += (edit.before.empty() ? "" : "\n") + line_of(text_, before);
    edit.after += (edit.after.empty() ? "" : "\n") + line_of(text, after);
  }
  if (!change.told.empty()) edit.after = tidy(change.told);
  edit.choices = {{copies_, add(copies_, text)}};
  edits_.push_back(std::move(edit));
}

void EditableFile::write_copies(std::size_t site, std::string& out) {
  if (!has_any(site)) return;
  std::string includes;
  (void)without_includes(text_, &includes);
  copy(includes, out);
  std::string forget;
  for (std::size_t i = 1; i + 1 < source_.size(); ++i) {
    if (source_.is(i - 1, "define") && source_[i].directive != 0)
      forget += "#undef " + std::string(source_[i].text) + "\n";
  }
  const auto lines = [&](std::size_t alternative, const std::string& text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      write_line(site, alternative, text.substr(begin, end - begin), out);
      begin = end + 1;
    }
  };
  const auto note = [&](std::size_t copy) {
    return "static const ::convlab::mend::Copy convlab_mend_copy" + std::to_string(copy) + "(" +
           std::to_string(site) + ", " + std::to_string(copy) + ");\n";
  };
  for (std::size_t a = 0; a < alternatives_[site].size(); ++a) {
    if (alternatives_[site][a].dropped) continue;
    std::string text = without_includes(alternatives_[site][a].text, nullptr);
    const std::string member = "GPUInterface::";
    for (auto at = text.find(member); at != std::string::npos; at = text.find(member))
      text.erase(at, member.size());
    lines(a + 1, forget + note(a + 1) + "namespace " + space_of(a + 1) + " {\n" + text + "\n}\n");
  }
  copy(forget + note(0), out);
}

// A function of the course's interface hands on to its copies.
void EditableFile::write_calls_of_copies(std::size_t body, std::string& out) {
  std::size_t close = body - 1;
  while (close > 0 && !source_.is(close, ")")) --close;
  const std::size_t open = source_.partner(close);
  const std::size_t name = open - 1;
  if (open >= close || !source_[name].text.starts_with("conv_forward_") ||
      source_.in_device_code(body)) {
    return;
  }
  const bool is_interface = source_.is(name - 1, "::") || source_.is(name, "conv_forward_cpu");
  if (!is_interface || !has_any(copies_)) return;
  std::string arguments;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (!source_.is(i, ",") && i != close) continue;
    arguments += (arguments.empty() ? "" : ", ") + std::string(source_[i - 1].text);
  }
  end_line("", out);
  for (std::size_t a = 0; a < alternatives_[copies_].size(); ++a) {
    if (alternatives_[copies_][a].dropped) continue;
    write_line(copies_, a + 1,
               "if (::convlab::mend::chosen[" + std::to_string(copies_) +
                   "] == " + std::to_string(a + 1) + ") return " + space_of(a + 1) +
                   "::" + std::string(source_[name].text) + "(" + arguments + ");",
               out);
  }
}

// #define of its own with the alternatives: an alternative of another site has the file's macro.
void EditableFile::write_macro(std::size_t s, std::string& out) {
  const Site& site = outline_.sites[s];
  const std::size_t name = site.function - 1;
  const std::size_t body = source_.partner(site.function) + 1;
  std::size_t end = site.end;
  while (end < source_.size() && source_[end].directive == source_[name].directive) ++end;
  const std::string own = source_.text(site.begin, site.end);
  const std::string head = edited_macros_[std::string(source_[name].text)] +
                           source_.text(site.function, body) + " " + source_.text(body, site.begin);
  write_line(s, 0,
             "#define " + head + " [&]() -> ::convlab::mend::Of<decltype(" + own +
                 ")> {switch (::convlab::mend::chosen[" + std::to_string(s) + "]) { \\",
             out);
  for (std::size_t a = 0; a < alternatives_[s].size(); ++a) {
    const Alternative& each = alternatives_[s][a];
    if (!each.dropped)
      write_line(s, a + 1, "case " + std::to_string(a + 1) + ": return (" + each.text + "); \\",
                 out);
  }
  write_line(s, 0, "default: return (" + own + ");}}()" + source_.text(site.end, end), out);
}

}  // namespace convlab::grader::mend
