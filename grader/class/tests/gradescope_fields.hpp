#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace convlab::grader::testing {

/// What a results.json has that Gradescope does not document ("Autograder Specifications": the
/// fields of the file, of a test and of the leaderboard), or in another type. Empty: nothing.
inline std::string undocumented(const nlohmann::json& results) {
  // Of each field an example of its type, or the texts that it may be.
  const nlohmann::json visible = {"hidden", "after_due_date", "after_published", "visible"};
  const nlohmann::json formats = {"text", "html", "simple_format", "md", "ansi"};
  const nlohmann::json of_file = {{"score", 0},
                                  {"execution_time", 0},
                                  {"output", ""},
                                  {"extra_data", nlohmann::json::object()},
                                  {"output_format", formats},
                                  {"test_output_format", formats},
                                  {"visibility", visible},
                                  {"test_name_format", formats},
                                  {"stdout_visibility", visible},
                                  {"tests", nullptr},
                                  {"leaderboard", nullptr}};
  const nlohmann::json of_test = {{"score", 0},
                                  {"max_score", 0},
                                  {"status", {"passed", "failed"}},
                                  {"name", ""},
                                  {"name_format", formats},
                                  {"number", ""},
                                  {"output", ""},
                                  {"tags", nullptr},
                                  {"output_format", formats},
                                  {"extra_data", nlohmann::json::object()},
                                  {"visibility", visible}};
  const nlohmann::json of_line = {{"name", ""}, {"value", 0}, {"order", {"asc", "desc"}}};
  std::string problems;
  const auto check = [&](const nlohmann::json& object, const nlohmann::json& fields) {
    for (const auto& [name, value] : object.items()) {
      const nlohmann::json field = fields.value(name, nlohmann::json(false));
      bool fits = field.is_null()     ? value.is_array()
                  : field.is_number() ? value.is_number()
                                      : value.type() == field.type();
      if (field.is_array()) fits = std::ranges::find(field, value) != field.end();
      if (!fits) problems += name + " " + value.dump() + "; ";
    }
  };
  check(results, of_file);
  if (!results.contains("score") && !results.contains("tests")) problems += "no score; ";
  for (const auto& each : results.value("tests", nlohmann::json::array())) check(each, of_test);
  for (const auto& each : results.value("leaderboard", nlohmann::json::array())) {
    check(each, of_line);
    if (!each.contains("name") || !each.contains("value")) problems += "a line of no one; ";
  }
  return problems;
}

}  // namespace convlab::grader::testing
