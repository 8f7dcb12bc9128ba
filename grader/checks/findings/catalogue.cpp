#include "grader/checks/findings/catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "common/base/json_text.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/submission/sandbox/sandbox.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

Finding finding(const std::string& name, const std::string& seen,
                const std::vector<std::string>& values) {
  const std::string id = name.substr(0, name.find('/'));
  const auto known = std::ranges::find(catalogue(), id, &Diagnosis::id);
  if (known == catalogue().end()) throw std::out_of_range("no diagnosis " + id);
  Finding found{.id = id,
                .title = known->title,
                .seen = printable(seen),
                .cause = known->cause,
                .next = known->next};
  if (name == id) return found;
  const Diagnosis words = variant(name, values);
  found.seen += printable(words.seen);
  if (!words.title.empty()) found.title = words.title;
  if (!words.cause.empty()) found.cause = words.cause;
  if (!words.next.empty()) found.next = words.next;
  return found;
}

bool is_of_kind(const Finding& finding, const std::string& kind) {
  const auto known = std::ranges::find(catalogue(), finding.id, &Diagnosis::id);
  return known != catalogue().end() && find_word(known->kinds, kind) != std::string::npos;
}

Finding finding(const FaultMessage& message, const std::string& prefix) {
  Finding found = finding(message.id, prefix + message.seen);
  if (!message.cause.empty()) found.cause = message.cause;
  if (!message.next.empty()) found.next = message.next;
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
  std::istringstream lines(printed);
  std::string line;
  std::string last;
  while (std::getline(lines, line)) {
    if (!line.empty()) last = line;
  }
  return last.substr(0, kLongest);
}

// The finding that follows from the signal alone.
Finding explain_signal(int signal, const std::string& in, const FaultRecord& fault) {
  switch (signal) {
    case SIGSYS:
      return finding("E-forbidden", in + "the system call was made before the first convolution.");
    case SIGXCPU:
      return finding("E-timeout", in + "it used more processor time than it may.");
    case SIGXFSZ:
      return finding("E-flood", in + "it wrote a file without end.");
    default:
      const std::string line =
          fault.line > 0 ? ", " + fault.file + ":" + std::to_string(fault.line) : "";
      return finding("E-crash", in + ::strsignal(signal) + line + ".");
  }
}

Finding explain_fault(const Failure& failure, const std::string& in) {
  const FaultRecord fault = failure.fault.value_or(FaultRecord{FaultKind::kSignal});
  const FaultMessage message =
      failure.told.id.empty() ? message_of(fault, std::nullopt, {}) : failure.told;
  if (!message.id.empty()) return finding(message, in);
  if (fault.kind == FaultKind::kSystemCall) {
    const std::string call = system_call_name(static_cast<int>(fault.element));
    return finding("E-forbidden", in + "the system call " + call + ".");
  }
  // The C library ends a program whose own arrays are damaged, and says why in its last line.
  const std::string said = last_line(failure.printed);
  for (const char* words : {"free(): ", "malloc(): ", "corrupted", "double free", "realloc(): "}) {
    if (said.find(words) == std::string::npos) continue;
    return finding("E-crash/heap", in + "the C library ended the program: " + said + ".");
  }
  return explain_signal(failure.code, in, fault);
}

// What compilers and CUDA say, and what it means.
Json known_messages(const char* file) {
  // Of ROOT/common/network.
  const auto root = network_folder().parent_path().parent_path();
  return parse_json(read_text(root / "grader/checks/findings" / file));
}

bool is_said(const Json& message, const std::string& text) {
  return std::ranges::any_of(message.at("says"), [&](const Json& part) {
    return text.find(part.get<std::string>()) != std::string::npos;
  });
}

// A program that checks its calls itself has printed an error of CUDA and ended.
std::optional<Finding> printed_cuda_error(const std::string& printed, const std::string& in) {
  static const Json known = known_messages("cuda_errors.json");
  std::istringstream lines(printed);
  std::optional<Finding> found;
  for (std::string line; std::getline(lines, line);) {
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
  const std::string in = "In " + where + ": ";
  switch (failure.kind) {
    case Failure::Kind::kNotImplemented:
      return finding("E-not-implemented", failure.message);
    case Failure::Kind::kExit: {
      if (auto found = printed_cuda_error(failure.printed, in)) return *found;
      const std::string line = last_line(failure.printed);
      return finding("E-exit", in + "exit code " + std::to_string(failure.code) +
                                   (line.empty() ? "" : "; it last printed: " + line) + ".");
    }
    case Failure::Kind::kTimeout:
      return finding("E-timeout", in + "stopped after " + number(failure.limit_s) + " seconds.");
    case Failure::Kind::kFlood:
      return finding("E-flood", in + "stopped after " +
                                    std::to_string(ChildProcess::kOutputLimit >> 20) +
                                    " MB; the last line: " + last_line(failure.printed));
    case Failure::Kind::kMemory:
      return finding("E-memory", in + "it was stopped before the machine ran out of memory.");
    case Failure::Kind::kNoStart:
      return finding("E-no-program",
                     std::string("It cannot be started: ") + std::strerror(failure.code) + ".");
    case Failure::Kind::kProtocol:
      return finding("E-channel", "In " + where + ".");
    case Failure::Kind::kSettings:
      return finding("E-forbidden", in + "it changed the settings that the grader gave it.");
    case Failure::Kind::kWorksOn:
      return finding("E-still-working",
                     in + "its threads computed while the grader had stopped the program.");
    case Failure::Kind::kRefused:
      return finding("E-memory", in + failure.message + ".");
    default:
      return explain_fault(failure, in);
  }
}

namespace {

// The first line that uses the macro with more opening than closing brackets.
std::string unclosed(const std::string& macro, const SourceText& sources) {
  for (const auto& place : sources.lines_with({macro + "("})) {
    int open = 0;
    for (int next = place.line; next < place.line + 5; ++next) {
      const std::string line = sources.line(place.file, next);
      open += static_cast<int>(std::count(line.begin(), line.end(), '(') -
                               std::count(line.begin(), line.end(), ')'));
      if (line.ends_with(';')) break;
    }
    if (open > 0) return sources.quote(place.file, place.line);
  }
  return {};
}

}  // namespace

Finding compiler_finding(const std::string& error, const SourceText& sources) {
  Finding found = finding("E-build", error);
  const std::string invoking = "unterminated argument list invoking macro \"";
  const auto macro = error.find(invoking);
  const auto colon = error.find(':');
  if (macro != std::string::npos) {
    found.seen += unclosed(word_at(error, macro + invoking.size()), sources);
  } else if (colon != std::string::npos) {
    const std::string file = error.substr(0, colon);
    found.seen +=
        sources.quote(file.substr(file.rfind('/') + 1), line_number(digits_at(error, colon + 1)));
  }
  // Each as one or two compilers put it.
  static const Json known = known_messages("compiler_messages.json");
  for (const Json& words : known) {
    if (!is_said(words, error)) continue;
    if (words.contains("finding")) found = finding(words.at("finding"), found.seen);
    found.cause = words.value("cause", found.cause);
    found.next = words.value("next", found.next);
    break;
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
  std::string text = std::to_string(report.wrong) + " of " + std::to_string(shape.output_size()) +
                     " elements are wrong" +
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
  const std::string id = report.unwritten == wrong.shape.output_size() ? "E-never-written"
                         : report.not_finite > report.unwritten        ? "E-nan"
                         : report.unwritten > 0                        ? "E-partly-written"
                                                                       : "E-wrong";
  const float* output = wrong.arrays.output;
  const bool is_infinite =
      id == "E-nan" && std::none_of(output, output + wrong.shape.output_size(),
                                    [](float each) { return std::isnan(each); });
  return finding(is_infinite ? id + "/infinity" : id,
                 "In " + where + ": " + describe(wrong.shape, report));
}

}  // namespace convlab::grader
