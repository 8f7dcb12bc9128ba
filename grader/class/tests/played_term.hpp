#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/base/run_process.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/term.hpp"
#include "grader/judge/grade.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader::testing {

/// A class that goes through the real program. A script stands for the grader that checks; it gives
/// the points that a source names.
class PlayedTerm {
 public:
  PlayedTerm() {
    std::filesystem::create_directories(submissions());
    write_script("100");
    for (const int points : {40, 60, 70, 80, 90, 100}) {
      CheckResult check;
      check.result.program = "grader check";
      check.result.verdict = points == 100 ? Verdict::kPassed : Verdict::kFailed;
      if (points < 100)
        check.findings = {{.id = "E-stride",
                           .title = "t",
                           .seen = {"\n    conv.cpp:4 | a;", {{1, "conv.cpp", 4}}}}};
      check.score = Score{.items = {{.stage = "baseline",
                                     .item = "cases",
                                     .points = 100,
                                     .earned = static_cast<double>(points),
                                     .credit = Credit::kPartial}}};
      write_check_result(folder_.path() / (std::to_string(points) + ".json"), check);
    }
  }

  [[nodiscard]] std::filesystem::path submissions() const { return folder_.path() / "submissions"; }
  [[nodiscard]] std::filesystem::path term_file() const { return folder_.path() / "term.json"; }
  [[nodiscard]] std::filesystem::path database() const { return folder_.path() / "class.db"; }
  [[nodiscard]] std::filesystem::path grader() const { return folder_.path() / "grader"; }
  [[nodiscard]] std::string passed() const { return (folder_.path() / "100.json").string(); }

  /// From now on this stands for the grader: its sources are $source, and $result is wanted.
  void write_grader(const std::string& script) const {
    write_atomically(grader(), "#!/bin/sh\nresult=$6\nsource=$4\n" + script + "\n");
    std::filesystem::permissions(grader(), std::filesystem::perms::owner_all);
  }

  /// @param sixty  what the grader gives where a source says 60: it is mended during the term
  void write_script(const std::string& eighty, const std::string& sixty = "60") const {
    write_grader("points=$(tr -dc 0-9 <\"$source\")\n[ \"$points\" = 60 ] && points=" + sixty +
                 "\n[ \"$points\" = 80 ] && points=" + (eighty == "100" ? "80" : eighty) + "\ncp " +
                 folder_.path().string() + "/$points.json \"$result\"");
  }

  void hand_in(const std::string& name, int points, const std::string& received) const {
    const std::filesystem::path file = submissions() / name;
    write_atomically(file, "// " + std::to_string(points) + "\n");
    const std::chrono::sys_seconds time{std::chrono::seconds(*time_of(received))};
    std::filesystem::last_write_time(file, std::chrono::file_clock::from_sys(time));
  }

  FinishedProcess run(std::vector<std::string> words, std::chrono::milliseconds limit = {}) const {
    words.insert(words.begin(), {CONVLAB_BINARY_DIR "/grader", "class"});
    words.insert(words.end(), {"--database", database().string()});
    return run_process({.words = words,
                        .environment = {"PASSED=" + passed()},
                        .output = Command::Output::kTogether,
                        .time_limit = limit});
  }

  FinishedProcess grade(const std::vector<std::string>& more = {},
                        std::chrono::milliseconds limit = {}) const {
    std::vector<std::string> words = {
        "grade", submissions().string(), "--grader", grader().string(), "--jobs", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, limit);
  }

  /// Points by "student milestone", of the attempts that count.
  [[nodiscard]] std::map<std::string, double> gradebook() const {
    const auto rows = parse_csv(run({"export", "--format", "csv"}).output, "the export");
    std::map<std::string, std::size_t> column;
    for (std::size_t i = 0; i < rows.at(0).size(); ++i) column[rows[0][i]] = i;
    std::map<std::string, double> points;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].at(column.at("counts")) != "yes") continue;
      points[rows[i].at(0) + " " + rows[i].at(1)] = std::stod(rows[i].at(column.at("points")));
    }
    return points;
  }

 private:
  convlab::testing::TemporaryFolder folder_;
};

/// Its term file.
inline std::string term_with(const std::string& more) {
  return R"({"term": "SP27", "begins": "2027-01-18T00:00Z", "ends": "2027-05-14T00:00Z",
  "late_days": 2, "penalty_percent_per_day": 10, "closes_after_days": 7,
  "due": {"m1": "2027-02-01T00:00Z", "m2": "2027-03-01T00:00Z", "m3": "2027-04-01T00:00Z"},
  "extensions": [{"student": "s100", "milestone": "m2", "due": "2027-03-05T00:00Z"}])" +
         more + "}";
}

}  // namespace convlab::grader::testing
