#include "grader/checks/result/evidence.hpp"

#include <algorithm>

#include "common/base/enum_name.hpp"
#include "common/result/result_json.hpp"

namespace convlab {

void json_fields(JsonFields& fields, Mend& mend) {
  fields("file", mend.file, "lines", mend.lines, "kind", mend.kind, "before", mend.before, "after",
         mend.after)
      .optional("rest", mend.rest);
}

static void json_fields(JsonFields& fields, Seen::Place& place) {
  fields("row", place.row, "file", place.file, "line", place.line);
  fields.unless(Seen::Place().rows, "rows", place.rows);
}

// The text is in the file, and beside it the places of the lines that it quotes.
void json_fields(JsonFields& fields, Finding& finding) {
  std::string seen = finding.seen.text();
  std::vector<Seen::Place> places = finding.seen.places();
  fields("id", finding.id, "title", finding.title, "seen", seen, "cause", finding.cause, "next",
         finding.next)
      .optional("places", places)
      .optional("smallest", finding.smallest)
      .optional("may_shrink", finding.may_shrink)
      .optional("alone", finding.alone)
      .optional("shapes", finding.shapes)
      .optional("picture", finding.picture)
      .optional("compiler", finding.compiler)
      .optional("mends", finding.mends)
      .optional("variant", finding.variant, "values", finding.values)
      .optional("is_proved", finding.is_proved)
      .defaulted("stage", finding.stage);
  if (fields.reads()) finding.seen = {seen, places};
}

}  // namespace convlab

namespace convlab::grader {

// Where nlohmann-json looks for the conversions of the types in this namespace.
using convlab::from_json;
using convlab::to_json;

const char* to_string(Experiment experiment) {
  return enum_name(experiment,
                   {"start",        "precision",       "cases",         "hidden shapes",
                    "narrow index", "phases",          "small changes", "repeated inputs",
                    "stillness",    "second convolve", "little memory", "orders",
                    "team",         "leaks",           "network",       "hidden batches",
                    "rehearsal",    "races",           "quick cases",   "failed case",
                    "lines",        "task rules",      "speed",         "source"});
}

const char* to_string(Mode mode) {
  return enum_name(mode, {"plain", "emulated", "observed", "reads forgiven", "numbers beyond",
                          "in step", "in step, reads forgiven", "guarded", "one thread"});
}

const char* to_string(RunEnd end) {
  return enum_name(
      end, {"none", "right", "wrong", "fault", "exit", "timeout", "flood", "memory", "not built"});
}

const Record* Evidence::find(Experiment experiment, Mode mode,
                             std::optional<Precision> in_class) const {
  const auto found = std::ranges::find_if(records, [&](const Record& each) {
    return each.experiment == experiment && each.mode == mode &&
           (!in_class || each.precision == *in_class);
  });
  return found == records.end() ? nullptr : &*found;
}

static void json_fields(JsonFields& fields, Race& race) {
  fields("finding", race.finding)
      .optional("between_warps", race.is_between_warps, "stores_twice", race.stores_twice,
                "in_device_memory", race.is_in_device_memory, "one_number", race.is_one_number)
      .optional("meeting_places", race.meeting_places);
}

static void json_fields(JsonFields& fields, Record& record) {
  fields("experiment", record.experiment);
  fields.unless(Mode::kPlain, "mode", record.mode);
  fields.unless(Precision::kFp32, "precision", record.precision);
  if (fields.reads()) record.end = RunEnd::kRight;
  fields.unless(RunEnd::kRight, "end", record.end);
  fields.optional("finding", record.finding, "remark", record.remark, "race", record.race)
      .optional("wrong_cases", record.wrong_cases, "warnings", record.warnings);
  std::string lines = record.lines.text();
  std::vector<Seen::Place> places = record.lines.places();
  fields.optional("lines", lines, "places", places);
  if (fields.reads()) record.lines = {lines, places};
}

static void json_fields(JsonFields& fields, Demands& demands) {
  fields("any_shape", demands.any_shape)
      .optional("finds_precision", demands.finds_precision, "one_case", demands.one_case)
      .optional("refused", demands.refused, "forgives", demands.forgives)
      .optional("prolog_may_compute", demands.prolog_may_compute)
      .optional("has_task_rules", demands.has_task_rules);
}

void json_fields(JsonFields& fields, CountedRuns& runs) {
  fields.unless(Precision::kFp32, "precision", runs.precision);
  fields.unless(Mode::kPlain, "mode", runs.counts);
  fields.optional("wrong_cases", runs.wrong_cases, "takes_all", runs.takes_all, "takes_network",
                  runs.takes_network);
}

void json_fields(JsonFields& fields, Evidence& evidence) {
  fields("stage", evidence.stage, "demands", evidence.demands, "device", evidence.device);
  fields.unless(Precision::kFp32, "precision", evidence.precision);
  fields.optional("can_emulate", evidence.can_emulate, "has_regions", evidence.has_regions)
      .optional("only_for", evidence.only_for)("records", evidence.records);
}

}  // namespace convlab::grader
