#include "grader/checks/findings/catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "common/base/json_text.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/submission/build_submission.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

Finding finding(const std::string& name, const Seen& seen, const std::vector<std::string>& values) {
  Finding found;
  if (name.find('/') == std::string::npos) {
    found.id = name;
    found.values = values;
  } else {
    found = said(name, values);
  }
  found.seen = seen + found.seen;
  return finding(found, "");
}

Finding finding(const Finding& message, const Seen& prefix) {
  const auto usual = std::ranges::find(catalogue(), message.id, &FindingWords::id);
  if (usual == catalogue().end()) throw std::out_of_range("no finding " + message.id);
  Finding found = message;
  found.seen = prefix + message.seen;
  if (found.title.empty()) found.title = usual->title;
  if (found.cause.empty()) found.cause = usual->cause;
  if (found.next.empty()) found.next = usual->next;
  return found;
}

Finding with_warnings(Finding found, const std::string& warnings) {
  const bool uninitialised = warnings.find("uninitialized") != std::string::npos;
  if (uninitialised && is_of_kind(found, "numbers")) {
    found = finding("E-uninitialised/warning", found.seen);
  }
  found.compiler = warnings;
  return found;
}

namespace {

constexpr std::size_t kLongest = 160;  // characters of what a program printed

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

std::string last_line(const std::string& printed) {
  std::string last;
  for (const std::string& line : lines_of(printed)) {
    if (!line.empty()) last = line;
  }
  return last.substr(0, kLongest);
}

Finding explain_fault(const Failure& failure, const std::string& in) {
  const FaultRecord fault = failure.fault.value_or(FaultRecord{FaultKind::kSignal});
  const Finding message =
      failure.told.id.empty() ? message_of(fault, std::nullopt, {}) : failure.told;
  if (!message.id.empty()) return finding(message, in);
  if (fault.kind == FaultKind::kSystemCall) {
    return finding("E-forbidden/call", in, {system_call_name(static_cast<int>(fault.element))});
  }
  // The C library ends a program whose own arrays are damaged, and says why in its last line.
  const std::string said = last_line(failure.printed);
  for (const char* words : {"free(): ", "malloc(): ", "corrupted", "double free", "realloc(): "}) {
    if (said.find(words) != std::string::npos) return finding("E-crash/heap", in, {said});
  }
  static const std::map<int, const char*> known = {
      {SIGSYS, "E-forbidden/early"}, {SIGXCPU, "E-timeout/processor"}, {SIGXFSZ, "E-flood/file"}};
  const auto name = known.find(failure.code);
  if (name != known.end()) return finding(name->second, in);
  const std::string line =
      fault.line > 0 ? ", " + fault.file + ":" + std::to_string(fault.line) : "";
  return finding("E-crash", in + ::strsignal(failure.code) + line + ".");
}

// What compilers and CUDA say, and what it means.
Json known_messages(const char* file) {
  return parse_json(read_text(workbook_folder() / "grader/checks/findings" / file));
}

bool is_said(const Json& message, const std::string& text) {
  return std::ranges::any_of(message.at("says"), [&](const Json& part) {
    return text.find(part.get<std::string>()) != std::string::npos;
  });
}

// A program that checks its calls itself has printed an error of CUDA and ended.
std::optional<Finding> printed_cuda_error(const std::string& printed, const std::string& in) {
  static const Json known = known_messages("cuda_errors.json");
  std::optional<Finding> found;
  for (const std::string& line : lines_of(printed)) {
    for (const Json& error : known) {
      if (!is_said(error, line)) continue;
      found = finding(error.at("finding"), in + "the program checked a CUDA call, printed '" +
                                               line.substr(0, kLongest) + "' and ended.");
    }
  }
  return found;
}

}  // namespace

Finding explain(const Failure& failure, const std::string& where) {
  using enum Failure::Kind;
  const std::string in = "In " + where + ": ";
  if (failure.kind == kNotImplemented)
    return finding("E-not-implemented", failure.message, {failure.file});
  if (failure.kind == kProtocol) return finding("E-channel", "In " + where + ".");
  const std::string line = last_line(failure.printed);
  if (failure.kind == kExit) {
    if (auto found = printed_cuda_error(failure.printed, in)) return *found;
    return finding(
        "E-exit/code", in,
        {std::to_string(failure.code), line.empty() ? "" : "; it last printed: " + line});
  }
  static const std::map<Failure::Kind, const char*> names = {
      {kTimeout, "E-timeout/stopped"},        {kFlood, "E-flood/stopped"},
      {kMemory, "E-memory/stopped"},          {kNoStart, "E-no-program/no-start"},
      {kSettings, "E-forbidden/settings"},    {kWorksOn, "E-still-working/stopped"},
      {kWritesOn, "E-still-working/changed"}, {kRefused, "E-memory/refused"}};
  const auto name = names.find(failure.kind);
  if (name == names.end()) return explain_fault(failure, in);
  // What the program says comes last: nothing is filled in there.
  const bool has_place = failure.kind != kNoStart;
  return finding(name->second, has_place ? in : "",
                 {number(failure.limit_s), std::to_string(ChildProcess::kOutputLimit >> 20),
                  std::strerror(failure.code), failure.kind == kFlood ? line : failure.message});
}

namespace {

// What each * of a pattern stands for, if the pattern stands in the text from `begin` on: a few
// words of one line, without a quotation mark.
std::optional<std::vector<std::string>> stands_for(std::string_view pattern, std::string_view text,
                                                   std::size_t begin) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at < pattern.size(); ++at, ++begin) {
    if (pattern[at] != '*') {
      if (begin >= text.size() || text[begin] != pattern[at]) return std::nullopt;
      continue;
    }
    constexpr std::size_t kLongestValue = 80;
    const auto next = pattern.substr(at + 1, pattern.find('*', at + 1) - at - 1);
    const std::string_view rest =
        text.substr(std::min(begin, text.size()), kLongestValue + next.size());
    const auto end = std::min(rest.find_first_of("'\n"), rest.size());
    const auto size = next.empty() ? end : rest.find(next);
    if (size > end || size > kLongestValue) return std::nullopt;
    values.emplace_back(rest.substr(0, size));
    begin += size - 1;
  }
  return values;
}

std::optional<std::vector<std::string>> stands_for(const std::string& pattern,
                                                   const std::string& text) {
  const std::string first = pattern.substr(0, pattern.find('*'));
  for (auto at = text.find(first); at != text.npos; at = text.find(first, at + 1)) {
    if (auto values = stands_for(pattern, text, at)) return values;
  }
  return std::nullopt;
}

}  // namespace

Finding compiler_finding(const BuildError& error, const SourceText& sources) {
  Finding found = finding("E-build", error.said());
  const std::string file = error.file.substr(error.file.rfind('/') + 1);
  found.seen += sources.quote(file, error.line);
  const std::string text = error.text + "\n" + error.notes;
  static const Json known = known_messages("compiler_messages.json");
  for (const Json& words : known) {
    for (const Json& pattern : words.at("says")) {
      const auto values = stands_for(pattern.get<std::string>(), text);
      if (!values) continue;
      // In place of names that the rewrite has made.
      if (words.contains("text")) {
        BuildError told = error;
        told.text = words.at("text");
        found.seen = told.said() + sources.quote(file, error.line);
      }
      if (words.contains("finding")) found = finding(words.at("finding"), found.seen);
      found.cause = filled_in(words.value("cause", found.cause), *values);
      found.next = filled_in(words.value("next", found.next), *values);
      return found;
    }
  }
  return found;
}

std::string place_of(const ConvShape& shape, const oracle::Mismatch& element) {
  // The puzzles have one row of numbers.
  const bool is_row = shape.output_size() == shape.out_width() && shape.out_width() > 1;
  if (is_row) return "element " + std::to_string(element.column);
  return "image b=" + std::to_string(element.image) + ", map m=" + std::to_string(element.map) +
         ", row h=" + std::to_string(element.row) + ", column w=" + std::to_string(element.column);
}

std::string describe(const ConvShape& shape, const oracle::ErrorReport& report) {
  std::string text = std::to_string(report.wrong) + " of " +
                     count_of(shape.output_size(), "element") +
                     (report.wrong == 1 ? " is wrong" : " are wrong") +
                     (report.unwritten > 0 && report.unwritten < report.wrong
                          ? ", " + std::to_string(report.unwritten) + " of them never written."
                          : ".");
  if (!report.first) return text;
  const oracle::Mismatch& first = *report.first;
  const bool unwritten = report.unwritten == report.wrong;
  return text + " The first: " + place_of(shape, first) + ": expected " + number(first.expected) +
         ", got " +
         (unwritten ? "nothing: it still holds its value from before the call"
                    : number(static_cast<double>(first.got))) +
         ".";
}

bool is_nearly_right(const WrongOutput& wrong) {
  constexpr double kNearly = 0.02;
  return wrong.report.not_finite == 0 &&
         wrong.report.worst_ratio * oracle::kUnitRoundoff <= kNearly;
}

Finding lost_precision(const WrongOutput& wrong, const std::string& where) {
  const oracle::ErrorReport& report = wrong.report;
  std::string seen = "In " + where + ": " + describe(wrong.shape, report);
  if (is_nearly_right(wrong)) {
    seen += " All are nearly right. The largest error is " +
            std::to_string(static_cast<long long>(report.worst_ratio)) +
            " · 2^-24 of the sum of absolute products; " +
            std::to_string(static_cast<long long>(report.bound)) + " are allowed.";
  }
  const bool may_be_shorter =
      wrong.tolerance.bound > oracle::error_bound(Precision::kFp32, wrong.shape.taps());
  return finding(may_be_shorter ? "E-precision/stage" : "E-precision", seen);
}

Finding diagnose(const WrongOutput& wrong, const std::string& where) {
  if (!wrong.is_whole && is_nearly_right(wrong)) return lost_precision(wrong, where);
  const oracle::ErrorReport& report = wrong.report;
  const char* const id = report.unwritten == wrong.shape.output_size() ? "E-never-written"
                         : report.not_finite > report.unwritten        ? "E-nan"
                         : report.unwritten > 0                        ? "E-partly-written"
                                                                       : "E-wrong";
  const std::span output(wrong.arrays.output, static_cast<std::size_t>(wrong.shape.output_size()));
  const bool is_infinite =
      report.not_finite > report.unwritten && report.unwritten == 0 &&
      std::ranges::none_of(output, [](float each) { return std::isnan(each); });
  return finding(is_infinite ? "E-nan/infinity" : id,
                 "In " + where + ": " + describe(wrong.shape, report));
}

}  // namespace convlab::grader
