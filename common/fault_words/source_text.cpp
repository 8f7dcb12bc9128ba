#include "common/fault_words/source_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

namespace convlab {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Where `word` stands in the text and is no part of a longer word.
std::size_t find_word(const std::string& text, const std::string& word, std::size_t from = 0) {
  for (auto at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]) || !is_word(word.front());
    const auto end = at + word.size();
    if (begins && (end == text.size() || !is_word(text[end]) || !is_word(word.back()))) return at;
  }
  return std::string::npos;
}

std::string word_before(const std::string& text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

bool has_word(const std::string& text, const std::string& word) {
  return find_word(text, word) != std::string::npos;
}

// Blanks comments; a string that holds // is cut, too, which does no harm here.
std::vector<std::string> without_comments(std::vector<std::string> lines) {
  bool inside = false;
  for (std::string& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (inside) {
        inside = line.compare(i, 2, "*/") != 0;
        if (!inside) line[i + 1] = ' ';
        line[i] = ' ';
      } else if (line.compare(i, 2, "//") == 0) {
        line.resize(i);
      } else if (line.compare(i, 2, "/*") == 0) {
        inside = true;
        line[i] = ' ';
      }
    }
  }
  return lines;
}

}  // namespace

int line_number(const std::string& digits) {
  int number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && rest == end ? number : 0;
}

SourceText::SourceText(const std::vector<std::filesystem::path>& files) {
  constexpr std::size_t kLongestLine = 1000;
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(line.substr(0, kLongestLine));
    }
    const std::string name = file.filename().string();
    code_[name] = without_comments(lines);
    lines_[name] = std::move(lines);
  }
}

std::string SourceText::line(const std::string& file, int number) const {
  const auto found = lines_.find(file);
  if (found == lines_.end() || number < 1) return {};
  const auto index = static_cast<std::size_t>(number) - 1;
  return index < found->second.size() ? trimmed(found->second[index]) : std::string();
}

std::string SourceText::quote(const std::string& file, int number) const {
  std::string text = line(file, number);
  if (text.empty()) return {};
  const std::string place = file + ":" + std::to_string(number) + " | ";
  constexpr std::size_t kColumns = 64;  // with the grader's margin 80 in all
  const std::size_t room = kColumns - std::min(kColumns / 2, place.size());
  if (text.size() > room) {
    std::size_t end = room;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
    text = text.substr(0, end) + " …";
  }
  return "\n    " + place + text;
}

std::string SourceText::quote(const std::string& place) const {
  const auto colon = place.rfind(':');
  return colon == std::string::npos
             ? ""
             : quote(place.substr(0, colon), line_number(place.substr(colon + 1)));
}

SourceText::Body SourceText::find_kernel(const std::string& kernel) const {
  // The launch may name template arguments or a namespace.
  std::string name = kernel.substr(0, kernel.find('<'));
  if (const auto scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
  name = trimmed(name);
  if (name.empty()) return {};
  for (const auto& [file, lines] : code_) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!has_word(lines[i], "__global__")) continue;
      // From here to the end of the body, counting brackets.
      Body body{.file = file, .first = i};
      std::string head;
      int round = 0;
      int curly = 0;
      for (std::size_t k = i; k < lines.size(); ++k) {
        for (const char c : lines[k] + "\n") {
          if (c == '(') ++round;
          if (c == ')') --round;
          if (c == ';' && curly == 0 && round == 0) k = lines.size();  // a declaration
          if (c == '{') ++curly;
          if (curly == 0) head += c;
          if (c == '}' && --curly == 0) {
            body.last = k;
            break;
          }
          if (k == lines.size()) break;
        }
        if (k == lines.size() || body.last != 0) break;
      }
      const auto at = find_word(head, name);
      if (body.last == 0 || at == std::string::npos) continue;
      const auto open = head.find('(', at);
      const auto close = head.rfind(')');
      if (open != std::string::npos && close != std::string::npos && close > open) {
        body.parameters = head.substr(open + 1, close - open - 1);
      }
      return body;
    }
  }
  return {};
}

SourceText::Parameter SourceText::parameter(const std::string& kernel, int position) const {
  const std::string all = find_kernel(kernel).parameters;
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : all) {
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c == '\n' ? ' ' : c;
    }
  }
  if (position < 1 || static_cast<std::size_t>(position) > parts.size()) return {};
  std::string part = trimmed(parts[static_cast<std::size_t>(position) - 1]);
  part = trimmed(part.substr(0, std::min(part.find('='), part.find('['))));
  Parameter result{.name = word_before(part, part.size())};
  static constexpr std::pair<const char*, std::size_t> kSizes[] = {
      {"half", 2},   {"__half", 2},  {"__nv_bfloat16", 2}, {"double", 8},
      {"half4", 8},  {"float2", 8},  {"float4", 16},       {"char", 1},
      {"int8_t", 1}, {"uint8_t", 1}, {"std::byte", 1}};
  for (const auto& [type, bytes] : kSizes)
    if (has_word(part, type)) result.element_bytes = bytes;
  return result;
}

std::vector<SourceText::Place> SourceText::lines_of_kernel(
    const std::string& kernel, const std::vector<std::string>& words) const {
  const Body body = find_kernel(kernel);
  std::vector<Place> places;
  if (body.last == 0) return places;
  const auto& lines = code_.at(body.file);
  for (std::size_t i = body.first; i <= body.last; ++i) {
    const bool found = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return has_word(lines[i], word);
    });
    if (found) places.push_back({body.file, static_cast<int>(i) + 1});
  }
  return places;
}

std::string SourceText::dynamic_shared(const std::string& kernel) const {
  for (const Place& place : lines_of_kernel(kernel, {"extern"})) {
    const std::string text = line(place.file, place.line);
    const auto end = text.find('[');
    if (end == std::string::npos || !has_word(text, "__shared__")) continue;
    return word_before(text, end);
  }
  return {};
}

std::string SourceText::kernel_around(const std::string& file, int number) const {
  const auto code = code_.find(file);
  if (code == code_.end()) return {};
  for (const std::string& text : code->second) {
    const auto at = find_word(text, "__global__");
    const auto open = text.find('(', at == std::string::npos ? 0 : at);
    if (at == std::string::npos || open == std::string::npos) continue;
    const std::string name = word_before(text, open);
    const Body body = find_kernel(name);
    const auto index = static_cast<std::size_t>(number) - 1;
    if (body.file == file && index >= body.first && index <= body.last) return name;
  }
  return {};
}

std::vector<SourceText::Place> SourceText::lines_with(
    const std::vector<std::string>& words, const std::vector<std::string>& without) const {
  constexpr std::size_t kMost = 200;
  std::vector<Place> places;
  for (const auto& [file, lines] : code_) {
    for (std::size_t i = 0; i < lines.size() && places.size() < kMost; ++i) {
      // By name: clang 14 lets no lambda capture a structured binding.
      const auto stands = [&line = lines[i]](const std::string& word) {
        return has_word(line, word);
      };
      // A call may go on in the next line.
      const std::string whole =
          lines[i] + (i + 1 < lines.size() && lines[i].find(';') == std::string::npos
                          ? lines[i + 1]
                          : std::string());
      const bool excluded = std::any_of(without.begin(), without.end(), [&](const auto& word) {
        return whole.find(word) != std::string::npos;
      });
      if (!excluded &&
          std::all_of(words.begin(), words.end(),
                      [&](const auto& word) { return has_word(whole, word); }) &&
          stands(words.front())) {
        places.push_back({file, static_cast<int>(i) + 1});
      }
    }
  }
  return places;
}

}  // namespace convlab
