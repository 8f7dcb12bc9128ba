#include "grader/checks/result/check_result.hpp"

#include <algorithm>
#include <functional>

#include "common/base/enum_name.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result_json.hpp"
#include "common/timing/statistics.hpp"

namespace convlab::grader {

// Where nlohmann-json looks for the conversions of the types in this namespace.
using convlab::from_json;
using convlab::to_json;

std::string smallest_case_text(const Finding& finding) {
  if (finding.smallest.empty()) return {};
  return (finding.may_shrink ? "A small case that fails: " : "The smallest case that fails: ") +
         finding.smallest +
         (finding.alone.empty() ? "." : "; " + finding.alone + " runs it alone.") +
         (finding.shapes.empty() ? "" : "\n" + finding.shapes);
}

std::string seen_text(const Finding& finding) {
  const std::string smallest = smallest_case_text(finding);
  return smallest + (smallest.empty() ? "" : "\n") + finding.seen.text() +
         (finding.picture.empty() ? "" : "\n" + finding.picture);
}

std::string mend_lines_text(const Finding& finding) {
  std::vector<std::string> places;
  for (const Mend& mend : finding.mends) {
    std::string place;
    for (const std::size_t line : mend.lines) {
      place += (place.empty() ? "" : " and ") + mend.file + ":" + std::to_string(line);
    }
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  std::string all;
  for (const std::string& place : places) all += (all.empty() ? "" : ", or in ") + place;
  if (all.empty()) return all;
  const std::string& rest = finding.mends.front().rest;
  return "A small change in " + all + " makes " +
         (rest.empty() ? "every case right." : "this case right. " + rest);
}

std::string mend_kind_text(const Finding& finding) {
  std::vector<std::string> kinds;
  for (const Mend& mend : finding.mends) {
    if (std::ranges::find(kinds, mend.kind) == kinds.end()) kinds.push_back(mend.kind);
  }
  std::string all;
  for (const std::string& kind : kinds) all += (all.empty() ? "" : "; or ") + kind;
  return all.empty() ? all : "The change concerns " + all + ".";
}

std::string mend_change_text(const Finding& finding) {
  if (finding.mends.empty()) return {};
  const Mend& mend = finding.mends.front();
  const auto indented = [](const std::string& changed) {
    std::string text;
    for (const std::string& line : lines_of(changed)) text += "\n  " + line;
    return text;
  };
  const std::string which = mend.rest.empty() ? "Every case" : "This case";
  if (mend.before.empty() && !mend.lines.empty()) {
    return which + " is right if this is added at line " + std::to_string(mend.lines.front()) +
           ":" + indented(mend.after);
  }
  return which + " is right if" + indented(mend.before) + "\nbecomes" +
         (mend.after.empty() ? "\n  (nothing)" : indented(mend.after));
}

static void json_fields(JsonFields& fields, CaseResult& result) {
  fields("stage", result.stage, "name", result.name, "shape", result.shape, "seed", result.seed,
         "exact", result.exact, "error", result.error, "verdict", result.verdict);
}

static void json_fields(JsonFields& fields, SpeedMeasure& speed) {
  fields("reference", speed.reference, "speed", speed.speed, "low", speed.low, "high", speed.high,
         "rounds", speed.rounds, "yours_ms", speed.yours_ms, "reference_ms", speed.reference_ms)
      .optional("bound_ms", speed.bound_ms);
}

static void json_fields(JsonFields& fields, ScoreItem& item) {
  fields("stage", item.stage, "item", item.item)
      .optional("batch", item.batch)("points", item.points, "earned", item.earned, "credit",
                                     item.credit, "yours", item.yours, "reference", item.reference,
                                     "why", item.why)
      .optional("speed", item.speed, "lacks_technique", item.lacks_technique);
}

void json_fields(JsonFields& fields, ScoreChoice& choice) {
  fields("points", choice.most, "stages", choice.stages);
}

static void json_fields(JsonFields& fields, Score& score) {
  double earned = score.earned();  // the sums are for readers of the file
  double counted = score.counted();
  double total = score.total();
  fields("earned", earned, "counted", counted, "total", total, "items", score.items)
      .optional("best_of", score.choice);
}

static void json_fields(JsonFields& fields, Measured& measured) {
  fields("stage", measured.stage)
      .optional("batch", measured.batch, "speed", measured.speed, "counters", measured.counters,
                "finding", measured.finding, "why_not", measured.why_not);
}

static void json_fields(JsonFields& fields, SolvedPuzzles& puzzles) {
  fields("solved", puzzles.solved, "all", puzzles.all);
}

static void json_fields(JsonFields& fields, ScoreBasis& basis) {
  fields("batches", basis.batches, "network", basis.network, "emulated", basis.emulated,
         "cases_in_all", basis.cases_in_all)
      .optional("only_stage", basis.only_stage, "cases_of", basis.cases_of, "puzzles",
                basis.puzzles, "predicted", basis.predicted, "measured", basis.measured, "counted",
                basis.counted);
}

static void json_fields(JsonFields& fields, EditionScore& score) {
  fields("task", score.task, "points", score.points, "earned", score.earned, "counts", score.counts,
         "why", score.why);
}

static void json_fields(JsonFields& fields, RankedTimes& ranked) {
  fields("batch", ranked.batch, "op_ms", ranked.op_ms, "how", ranked.how)
      .optional("why_not", ranked.why_not);
}

static void json_fields(JsonFields& fields, SourceFile& file) {
  fields("path", file.path, "sha256", file.sha256);
}

void json_fields(JsonFields& fields, CheckResult& check) {
  json_fields(fields, check.result);
  // Files of m1 and the other programs contain only the fields above.
  fields.defaulted("cases", check.cases, "findings", check.findings)
      .optional("warnings", check.warnings, "rules", check.rules, "evidence", check.evidence)
      .defaulted("isolation", check.isolation)
      .optional("score", check.score, "score_basis", check.basis, "edition", check.edition,
                "ranked", check.ranked, "sources", check.sources);
}

std::string to_json(const CheckResult& check) {
  return file_text(Json(check));
}

CheckResult parse_check_result(const std::string& text, const std::string& name) {
  CheckResult check;
  read_file_text(text, name, [&](const Json& json) { json.get_to(check); });
  return check;
}

void write_check_result(const std::filesystem::path& file, const CheckResult& check) {
  write_atomically(file, to_json(check));
}

CheckResult read_check_result(const std::filesystem::path& file) {
  return parse_check_result(read_text(file), file.string());
}

std::optional<Points> CheckResult::points() const {
  if (edition) {
    return Points{edition->earned, edition->counts ? edition->points : 0.0, edition->points};
  }
  if (!score) return std::nullopt;
  return Points{score->earned(), score->counted(), score->total()};
}

const char* to_string(Credit credit) {
  return enum_name(credit, {"earned", "partial", "undecided", "not-measured"});
}

double sum_of_medians(const std::vector<std::vector<double>>& series) {
  double sum = 0.0;
  for (const std::vector<double>& samples : series) sum += spread_of(samples).median;
  return sum;
}

bool Score::is_optional(const std::string& stage) const {
  return choice && std::ranges::find(choice->stages, stage) != choice->stages.end();
}

// Points of the choice beyond its maximum do not count.
static double sum_of(const Score& score, const std::function<double(const ScoreItem&)>& points) {
  double required = 0.0;
  double chosen = 0.0;
  for (const ScoreItem& item : score.items) {
    (score.is_optional(item.stage) ? chosen : required) += points(item);
  }
  return required + (score.choice ? std::min(chosen, score.choice->most) : 0.0);
}

double Score::earned() const {
  return sum_of(*this, [](const ScoreItem& item) { return item.earned; });
}

double Score::counted() const {
  return sum_of(*this, [](const ScoreItem& item) {
    return item.credit == Credit::kNotMeasured ? 0.0 : item.points;
  });
}

double Score::total() const {
  return sum_of(*this, [](const ScoreItem& item) { return item.points; });
}

}  // namespace convlab::grader
