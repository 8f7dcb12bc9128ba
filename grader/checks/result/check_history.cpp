#include "grader/checks/result/check_history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/descriptor.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result_json.hpp"

namespace convlab::grader {

// Where nlohmann-json looks for the conversions of the types in this namespace.
using convlab::from_json;
using convlab::to_json;

void append_history(const std::filesystem::path& file, const CheckResult& check) {
  std::set<std::string> stages;
  for (const CaseResult& test : check.cases) stages.insert(test.stage);
  Json line = {{"created", check.result.created},
               {"milestone", check.result.milestone},
               {"stages", stages},
               {"findings", Json::array()}};
  for (const Finding& finding : check.findings) {
    line["findings"].push_back(
        {{"id", finding.id}, {"title", finding.title}, {"stage", finding.stage}});
    if (!finding.mends.empty()) line["findings"].back()["mends"] = finding.mends;
    const std::string smallest = smallest_case_text(finding);
    if (!smallest.empty()) {
      line["findings"].back()["smallest"] = smallest + "\n" + finding.picture;
    }
  }
  const std::string text = json_text(line) + "\n";
  // The first check of a student may be that of a puzzle or a repair, which has no result.
  std::error_code refused;  // open() tells the reason
  std::filesystem::create_directories(file.parent_path(), refused);
  const Descriptor descriptor(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!descriptor.is_open() ||
      ::write(descriptor.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw EnvironmentError("Cannot write " + file.string() + ": " + std::strerror(errno) + ".");
  }
}

std::vector<HistoryEntry> read_history(const std::filesystem::path& file) {
  std::vector<HistoryEntry> history;
  if (!std::filesystem::exists(file)) return history;
  for (const std::string& line : lines_of(read_text(file))) {
    try {
      const Json json = parse_foreign(line);
      HistoryEntry entry{.created = json.at("created"),
                         .milestone = json.at("milestone"),
                         .stages = json.at("stages").get<std::vector<std::string>>()};
      for (const auto& each : json.at("findings")) {
        entry.findings.push_back({.id = each.at("id"),
                                  .title = each.at("title"),
                                  .seen = each.value("smallest", ""),
                                  .mends = each.value("mends", std::vector<Mend>()),
                                  .stage = each.at("stage")});
      }
      history.push_back(std::move(entry));
    } catch (const std::exception&) {
      continue;
    }
  }
  return history;
}

std::string history_of(const std::filesystem::path& file, const std::string& milestone) {
  std::string text;
  if (!std::filesystem::exists(file)) return text;
  for (const std::string& line : lines_of(read_text(file))) {
    const auto json = parse_json_or_null(line);
    if (json.is_object() && json.value("milestone", "") == milestone) text += line + "\n";
  }
  return text;
}

void keep_history(const std::filesystem::path& file, const std::string& lines) {
  std::string text = std::filesystem::exists(file) ? read_text(file) : "";
  const auto own = lines_of(text);
  const std::set<std::string> known(own.begin(), own.end());
  for (const std::string& line : lines_of(lines)) {
    if (!known.contains(line)) text += line + "\n";
  }
  write_atomically(file, text);
}

std::vector<MendedMistake> mended_mistakes(const std::vector<HistoryEntry>& history,
                                           const std::string& milestone) {
  std::vector<MendedMistake> mistakes;
  for (const HistoryEntry& entry : history) {
    if (entry.milestone != milestone) continue;
    const auto has = [&](const MendedMistake& mistake) {
      return std::ranges::any_of(entry.findings, [&](const Finding& each) {
        return each.id == mistake.id && each.stage == mistake.stage;
      });
    };
    // A mistake is gone if its stage was checked and did not get the finding.
    for (MendedMistake& mistake : mistakes) {
      const bool checked = mistake.stage.empty() ? !entry.stages.empty()
                                                 : std::ranges::find(entry.stages, mistake.stage) !=
                                                       entry.stages.end();
      if (mistake.mended.empty() && checked && !has(mistake)) mistake.mended = entry.created;
    }
    for (const Finding& each : entry.findings) {
      const auto open = std::ranges::find_if(mistakes, [&](const auto& mistake) {
        return mistake.id == each.id && mistake.stage == each.stage && mistake.mended.empty();
      });
      if (open != mistakes.end()) {
        ++open->checks;
      } else {
        mistakes.push_back({.milestone = milestone,
                            .stage = each.stage,
                            .id = each.id,
                            .title = each.title,
                            .seen = entry.created,
                            .checks = 1});
      }
    }
  }
  return mistakes;
}

}  // namespace convlab::grader
