#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>
#include <regex>

#include "common/base/testing/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/report/pages/report.hpp"

// The numbers in the sentences of the chapters and of the stages' pages: what follows from other
// numbers is computed again, and times are those of the reference's results. (Tables are generated:
// reference/results/update_tables.)

using namespace convlab;
using namespace convlab::grader;

namespace {

const std::filesystem::path kRoot = CONVLAB_SOURCE_DIR;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> all = {kRoot / "docs/performance.md"};
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "docs/ladder")) {
    all.push_back(entry.path());
  }
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "milestones")) {
    if (entry.is_directory() && std::filesystem::exists(entry.path() / "README.md")) {
      all.push_back(entry.path() / "README.md");
    }
  }
  return all;
}

// A page in ASCII without generated tables, each paragraph in one line, "10 000" as "10000".
std::string plain(const std::filesystem::path& page) {
  std::string text = read_text(page);
  const std::string end = "<!-- end of results -->";
  for (const char* kind : {"<!-- results:", "<!-- layers:", "<!-- limits:"}) {
    for (auto at = text.find(kind); at != std::string::npos; at = text.find(kind, at)) {
      text.erase(at, text.find(end, at) + end.size() - at);
    }
  }
  std::erase(text, '*');
  std::erase(text, '`');
  for (const auto& [from, to] :
       {std::pair{"·", "*"}, {"×", "*"}, {"−", "-"}, {"²", "^2"}, {"³", "^3"}, {"\n", " "}}) {
    text = replaced(text, from, to);
  }
  return std::regex_replace(text, std::regex("([0-9]) ([0-9]{3})(?![0-9])"), "$1$2");
}

/// Sums, products and powers of numbers; nothing if the text is no such expression.
class Expression {
 public:
  explicit Expression(std::string text) : text_(std::move(text)) {}

  std::optional<double> value() {
    const double sum = this->sum();
    return valid_ && at_ == text_.size() ? std::optional(sum) : std::nullopt;
  }

 private:
  bool take(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const bool taken = at_ < text_.size() && text_[at_] == c;
    if (taken) ++at_;
    return taken;
  }
  double sum() {
    double value = product();
    for (;;) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }
  double product() {
    double value = power();
    for (;;) {
      if (take('*')) {
        value *= power();
      } else if (take('/')) {
        value /= power();
      } else {
        return value;
      }
    }
  }
  double power() {
    const double base = atom();
    return take('^') ? std::pow(base, atom()) : base;
  }
  double atom() {
    if (take('(')) {
      const double value = sum();
      valid_ = take(')') && valid_;
      return value;
    }
    const char* const begin = text_.c_str() + at_;
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    valid_ = valid_ && end != begin;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool valid_ = true;
};

// Half of the last digit that a number shows.
double half_digit(const std::string& number) {
  const auto point = number.find('.');
  const auto digits = point == std::string::npos ? 0 : number.size() - point - 1;
  return 0.5 * std::pow(10.0, -static_cast<double>(digits)) * (1.0 + 1e-9);
}

double unit_of(const std::string& word) {
  for (const auto& [name, value] :
       {std::pair{"G", 1e9}, {"GB", 1e9}, {"M", 1e6}, {"million", 1e6}, {"KB", 1e3}, {"%", 0.01}}) {
    if (word == name) return value;
  }
  return 1.0;
}

}  // namespace

TEST_CASE("chapters: what stands before an equals sign gives the number behind it") {
  int checked = 0;
  const std::regex behind("^ (-?[0-9]+(?:\\.[0-9]+)?) ?([A-Za-z%]*)");
  for (const auto& page : pages()) {
    const std::string text = plain(page);
    for (auto at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
      const std::string rest = text.substr(at + 1, 80);
      std::smatch number;
      if (!std::regex_search(rest, number, behind)) continue;
      const auto before = text.find_last_not_of("0123456789. ()*/+^-", at - 1) + 1;
      std::string left = text.substr(before, at - before);
      left.erase(0, std::min(left.size(), left.find_first_not_of(" .")));
      left.erase(left.find_last_not_of(' ') + 1);
      while (std::ranges::count(left, '(') > std::ranges::count(left, ')') && left[0] == '(') {
        left.erase(0, 1);
      }
      if (left.find_first_of("+-*/^") == std::string::npos || left.find_first_of("+-*/^") == 0) {
        continue;
      }
      const auto value = Expression(left).value();
      if (!value) continue;
      ++checked;
      INFO(page.string() << ": " << left << " = " << number[0]);
      CHECK(std::abs(*value / unit_of(number[2]) - std::stod(number[1])) <= half_digit(number[1]));
    }
  }
  CHECK(checked >= 25);
}

TEST_CASE("chapters: times in sentences are those of the reference's results") {
  // Of variants that no result file holds; the sentence says what was measured.
  const std::vector<std::string> variants = {"25.5 fft.md",
                                             "16.5 fft.md",
                                             "0.0013 streams.md",
                                             "2.21 sweep-tuned.md",
                                             "2.94 tensor-cores-tf32.md",
                                             "99 README.md",
                                             "119 README.md"};
  std::vector<Result> results;
  for (const char* file : {"nvidia-h200.m1", "nvidia-h200.m2", "nvidia-h200.m3", "nvidia-h200.m4",
                           "nvidia-h100/m2", "nvidia-h100/m4"}) {
    results.push_back(read_result(kRoot / "reference/results" / (std::string(file) + ".json")));
  }
  std::vector<KnownNumber> known = known_numbers(results, {});
  for (const Result& result : results) {
    for (const ReferenceLine& line : result.references) {
      for (const double ms : line.op_ms) known.push_back({ms, line.label});
      known.push_back({std::accumulate(line.op_ms.begin(), line.op_ms.end(), 0.0), line.label});
    }
  }
  int checked = 0;
  const std::string number = "[0-9]+(?:\\.[0-9]+)?";
  const std::regex times("(" + number + "(?:(?:,| and| against| \\+| to) " + number +
                         ")*) (ms|s)\\b");
  const std::regex one(number);
  for (const auto& page : pages()) {
    if (page.filename() == "performance.md") continue;  // its tables say how each was measured
    const std::string text = plain(page);
    for (auto at = std::sregex_iterator(text.begin(), text.end(), times);
         at != std::sregex_iterator(); ++at) {
      const std::string list = (*at)[1];
      const double unit = (*at)[2] == "s" ? 1000.0 : 1.0;
      for (auto each = std::sregex_iterator(list.begin(), list.end(), one);
           each != std::sregex_iterator(); ++each) {
        const std::string time = each->str();
        const bool is_known = std::ranges::any_of(known, [&](const KnownNumber& result) {
          return std::abs(result.value - std::stod(time) * unit) <= half_digit(time) * unit;
        });
        ++checked;
        INFO(page.string() << ": " << at->str());
        CHECK((is_known || std::ranges::find(variants, time + " " + page.filename().string()) !=
                               variants.end()));
      }
    }
  }
  CHECK(checked >= 50);
}
