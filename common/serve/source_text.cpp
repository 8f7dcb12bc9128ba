#include "common/serve/source_text.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "common/base/text.hpp"

namespace convlab {

namespace {

// Without the template arguments and the namespace that a launch may name.
std::string plain_name(const std::string& kernel) {
  std::string name = kernel.substr(0, kernel.find('<'));
  if (const auto scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
  return trimmed(name);
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
    find_kernels(name);
  }
}

std::string SourceText::line(const std::string& file, int number) const {
  const auto found = lines_.find(file);
  if (found == lines_.end() || number < 1) return {};
  const auto index = static_cast<std::size_t>(number) - 1;
  return index < found->second.size() ? trimmed(found->second[index]) : std::string();
}

std::string SourceText::quoted_line(const std::string& file, int number) const {
  const std::string text = quote(file, number).text();
  return text.empty() ? text : text.substr(1) + "\n";
}

std::string SourceText::statement(const std::string& file, int number, int most_lines) const {
  // What a header does not close, or an operator asks for, stands in the next line.
  const auto goes_on = [](const std::string& text) {
    return !text.empty() && text.front() != '#' && text.back() != '{' &&
           (std::ranges::count(text, '(') > std::ranges::count(text, ')') ||
            std::string_view("=+-*/%&|?,<").find(text.back()) != std::string_view::npos);
  };
  const auto found = code_.find(file);
  std::string text;
  for (int i = number; i < number + most_lines && (i == number || goes_on(text)); ++i) {
    if (found == code_.end() || i < 1 || static_cast<std::size_t>(i) > found->second.size()) break;
    const std::string next = trimmed(found->second[static_cast<std::size_t>(i) - 1]);
    text += (text.empty() || text.ends_with('(') ? "" : " ") + next;
  }
  return trimmed(text);
}

std::vector<std::string> SourceText::lines(const std::string& file) const {
  const auto found = lines_.find(file);
  return found == lines_.end() ? std::vector<std::string>() : found->second;
}

Seen SourceText::quote(const std::string& file, int number) const {
  std::string text = line(file, number);
  if (text.empty()) return {};
  int last = number;
  if (const std::string all = statement(file, number); all != statement(file, number, 1)) {
    text = all;
    while (statement(file, number, last - number + 1) != all) ++last;
  }
  // The index that is wrong may be its end, so a long line goes on below.
  const std::string place = "\n    " + file + ":" + std::to_string(number) + " | ";
  constexpr std::size_t kColumns = 64;  // with the grader's margin 80 in all
  const std::size_t room = kColumns - std::min(kColumns / 2, place.size() - 5);
  std::string quoted = place;
  std::size_t rows = 1;
  for (; text.size() > room; ++rows) {
    constexpr std::size_t kMostRows = 5;
    const std::size_t most = rows < kMostRows ? room : room - 2;
    std::size_t end = text.find_last_of(" (,/", most - 1);
    end = end == std::string::npos || end < most / 2 ? most : end + 1;
    while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
    if (rows == kMostRows)
      return {quoted + text.substr(0, end) + " …", {{1, file, number, rows, last}}};
    quoted += trimmed(text.substr(0, end)) + "\n" + std::string(place.size() - 1, ' ');
    text = trimmed(text.substr(end));
  }
  return {quoted + text, {{1, file, number, rows, last}}};
}

Seen SourceText::quote(const std::string& place) const {
  const auto colon = place.rfind(':');
  return colon == std::string::npos
             ? Seen()
             : quote(place.substr(0, colon), line_number(place.substr(colon + 1)));
}

// From each __global__ to the end of the body, counting brackets.
void SourceText::find_kernels(const std::string& file) {
  // A file may have a hundred thousand such words, with bodies that do not end.
  constexpr std::size_t kMostKernels = 200;
  constexpr std::size_t kLongestHead = 4000;
  std::string code;
  for (const std::string& line : code_.at(file)) code += line + "\n";
  const auto line_at = [&](std::size_t at) {
    return static_cast<std::size_t>(
        std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  };
  std::size_t begin = find_word(code, "__global__");
  for (std::size_t i = 0; i < kMostKernels && begin != std::string::npos; ++i) {
    const std::size_t open = std::min(code.find_first_of("{;", begin), code.size());
    std::size_t end = open;
    for (int depth = 0; end < code.size(); ++end) {
      depth += code[end] == '{' ? 1 : code[end] == '}' ? -1 : 0;
      if (depth == 0) break;  // at once for a declaration
    }
    if (end < code.size() && end > open && open - begin < kLongestHead) {
      kernels_.push_back({file, code.substr(begin, open - begin), line_at(begin), line_at(end)});
    }
    begin = find_word(code, "__global__", begin + 1);
  }
}

const SourceText::Kernel* SourceText::find_kernel(const std::string& kernel) const {
  const std::string name = plain_name(kernel);
  if (name.empty()) return nullptr;
  const auto found =
      std::ranges::find_if(kernels_, [&](const Kernel& each) { return has_word(each.head, name); });
  return found == kernels_.end() ? nullptr : &*found;
}

// Of the type that a declaration names.
static std::size_t element_bytes_of(const std::string& declaration) {
  static constexpr std::pair<const char*, std::size_t> kSizes[] = {
      {"half", 2},   {"__half", 2},  {"__nv_bfloat16", 2}, {"double", 8},
      {"half4", 8},  {"float2", 8},  {"float4", 16},       {"char", 1},
      {"int8_t", 1}, {"uint8_t", 1}, {"std::byte", 1}};
  std::size_t known = 4;
  for (const auto& [type, bytes] : kSizes)
    if (has_word(declaration, type)) known = bytes;
  return known;
}

SourceText::Parameter SourceText::parameter(const std::string& kernel, int position) const {
  const Kernel* const found = find_kernel(kernel);
  const std::string head = found == nullptr ? "" : found->head.substr(0, found->head.rfind(')'));
  const auto open = std::min(head.find('(', find_word(head, plain_name(kernel))), head.size());
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : head.substr(std::min(open + 1, head.size()))) {
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
  Parameter result{.name = word_before(part, part.size()),
                   .is_reference = part.find('&') != std::string::npos};
  result.element_bytes = element_bytes_of(part);
  return result;
}

std::size_t SourceText::shared_element_bytes(const std::string& variable) const {
  const auto places = lines_with({"__shared__", variable});
  return element_bytes_of(places.empty() ? "" : line(places.front().file, places.front().line));
}

std::vector<SourceText::Place> SourceText::lines_of_kernel(
    const std::string& kernel, const std::vector<std::string>& words) const {
  const Kernel* const body = find_kernel(kernel);
  std::vector<Place> places;
  for (std::size_t i = body == nullptr ? 0 : body->first; body != nullptr && i <= body->last; ++i) {
    const std::string& line = code_.at(body->file)[i];
    const auto stands = [&](const std::string& word) { return has_word(line, word); };
    if (std::ranges::any_of(words, stands)) places.push_back({body->file, static_cast<int>(i) + 1});
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
  const auto index = static_cast<std::size_t>(number) - 1;
  for (const Kernel& each : kernels_) {
    const auto open = each.head.find('(');
    if (each.file == file && index >= each.first && index <= each.last && open != std::string::npos)
      return word_before(each.head, open);
  }
  return {};
}

Seen SourceText::quotes(const std::vector<std::string>& words,
                        const std::vector<std::string>& without) const {
  Seen all;
  for (const Place& place : lines_with(words, without)) all += quote(place.file, place.line);
  return all;
}

std::vector<SourceText::Place> SourceText::lines_with(
    const std::vector<std::string>& words, const std::vector<std::string>& without) const {
  constexpr std::size_t kMost = 200;
  std::vector<Place> places;
  for (const auto& [file, lines] : code_) {
    for (std::size_t i = 0; i < lines.size() && places.size() < kMost; ++i) {
      if (!has_word(lines[i], words.front())) continue;
      const std::string whole = statement(file, static_cast<int>(i) + 1);
      const auto stands = [&](const std::string& word) { return has_word(whole, word); };
      const auto excludes = [&](const std::string& word) {
        return whole.find(word) != std::string::npos;
      };
      if (std::ranges::all_of(words, stands) && std::ranges::none_of(without, excludes)) {
        places.push_back({file, static_cast<int>(i) + 1});
      }
    }
  }
  return places;
}

}  // namespace convlab
