#include "grader/course/notebook.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result_json.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

using convlab::from_json;
using convlab::to_json;

static void json_fields(JsonFields& fields, Prediction& slip) {
  fields("made", slip.made, "limiter", slip.limiter, "loads", slip.loads)
      .optional("inputs", slip.inputs, "op_ms", slip.op_ms)("reason", slip.reason);
}

static void json_fields(JsonFields& fields, Counted& counted) {
  fields.optional("loads", counted.loads, "inputs", counted.inputs);
}

static void json_fields(JsonFields& fields, Repair& repair) {
  fields.optional("named", repair.named, "mended", repair.mended);
}

static void json_fields(JsonFields& fields, ShownHint& hint) {
  fields("shown", hint.shown, "list", hint.list, "number", hint.number)
      .optional("finding", hint.finding, "stage", hint.stage);
}

static void json_fields(JsonFields& fields, ShownNumber& number) {
  fields("value", number.value, "what", number.what, "shown", number.shown);
}

static void json_fields(JsonFields& fields, Notebook& notebook) {
  fields.defaulted("puzzles", notebook.puzzles, "answers", notebook.answers, "predictions",
                   notebook.predictions, "explained", notebook.explained, "repairs",
                   notebook.repairs, "hints", notebook.hints, "numbers", notebook.numbers);
}

void note_number(Notebook& notebook, double value, const std::string& what,
                 const std::string& when) {
  constexpr std::size_t kMost = 1000;
  auto& numbers = notebook.numbers;
  const bool known = std::ranges::any_of(
      numbers, [&](const ShownNumber& each) { return each.value == value && each.what == what; });
  if (value > 0.0 && !known) numbers.push_back({value, what, when});
  if (numbers.size() > kMost) numbers.erase(numbers.begin());
}

bool is_reasoned(const std::string& reason) {
  constexpr std::ptrdiff_t kFewestWords = 8;
  return std::ranges::count(reason, ' ') + 1 >= kFewestWords &&
         reason.find_first_of("0123456789") != std::string::npos;
}

std::filesystem::path notebook_file(const CourseMilestone& milestone) {
  return build_folder() / "notebook" / (milestone.id + ".json");
}

Notebook read_notebook(const CourseMilestone& milestone) {
  const auto file = notebook_file(milestone);
  if (!std::filesystem::exists(file)) return {};
  return parse_notebook(read_text(file), file.string());
}

Notebook parse_notebook(const std::string& text, const std::string& name) {
  try {
    return parse_foreign(text, true).get<Notebook>();
  } catch (const std::exception& error) {
    throw EnvironmentError(name + " is damaged (" + error.what() +
                           "); remove it, or take yours with grader restore.");
  }
}

void write_notebook(const CourseMilestone& milestone, const Notebook& notebook) {
  write_atomically(notebook_file(milestone), json_text(Json(notebook), 1) + "\n");
}

Hints read_hints(const std::filesystem::path& file) {
  try {
    auto hints = parse_json(read_text(file)).get<Hints>();
    for (const auto& [name, list] : hints) {
      if (list.empty()) throw EnvironmentError(file.string() + " has no hints for " + name + ".");
    }
    return hints;
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " is no object of lists of texts: " + error.what());
  }
}

}  // namespace convlab::grader
