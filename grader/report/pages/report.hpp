#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/plots/sweep_report.hpp"

namespace convlab::grader {

/// The times of results, in milliseconds, and the times of sweeps by their parameters.
std::vector<KnownNumber> known_numbers(const std::vector<Result>& results,
                                       const std::vector<SweepTables>& sweeps);

/// Which numbers of a text are known, to the digits that it gives: "14.1: the op time of …". It
/// reads "11 832" as one number, and "15.2 s" as milliseconds, too. Empty if none is known.
std::string found_numbers(const std::string& text, const std::vector<KnownNumber>& known);

/// A question of the chapter, as it was answered.
struct AnsweredQuestion {
  std::string text{};
  std::string answer{};     ///< may be empty
  bool needs_data = false;  ///< it asks for the student's own numbers
};

/// What a student expected of a stage, beside what was measured.
struct ComparedPrediction {
  std::string stage{};
  std::string reason{};
  Table table{};           ///< what, predicted, measured
  std::string sentence{};  ///< the student's, on the difference; may be empty
};

/// The contents of a report.
struct ReportSource {
  std::string milestone{};  ///< "m4"
  std::string title{};      ///< of the milestone
  std::vector<Result> results{};
  std::vector<std::string> names{};  ///< of their files
  std::vector<MendedMistake> mistakes{};
  std::map<std::string, std::string> profiles{};  ///< by stage: what --profile printed
  std::vector<SweepTables> sweeps{};
  std::vector<ComparedPrediction> predictions{};
  std::vector<AnsweredQuestion> answers{};  ///< of the chapter
  std::vector<KnownNumber> noted{};         ///< that earlier checks and explanations showed
  std::map<std::string, std::vector<std::string>> questions{};  ///< by stage, from docs/ladder
  std::vector<PageBlock> images{};  ///< of the chosen image; see image_maps()
  std::string pictures{};           ///< folder of the plots beside the page; may be empty
};

/// The skeleton of a report: all numbers, tables and charts that the results hold, and every
/// question that needs prose, left open.
Page make_report(const ReportSource& source);

/// The questions of a page of docs/ladder: the summaries below "## Questions".
std::vector<std::string> questions_of(const std::string& ladder_page);

/// One test image in a network: the image, and for each convolution the maps that a stage computed,
/// with marks on the elements that differ from the oracle. Every convolution gets the right input,
/// even after a wrong one.
/// @param program  the milestone's executable, which runs in its isolation
/// @param stage    empty: its first one
/// @param image    number of the test image, from 0
/// @throws UsageError for an unknown stage or image; EnvironmentError for missing data
std::vector<PageBlock> image_maps(const std::filesystem::path& program, const std::string& stage,
                                  const std::string& network, int image);

}  // namespace convlab::grader
