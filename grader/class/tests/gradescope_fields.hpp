#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace convlab::grader::testing {

inline bool is_one_of(const nlohmann::json& value, const std::vector<std::string>& words) {
  return value.is_string() && std::ranges::find(words, value.get<std::string>()) != words.end();
}

/// What a results.json has that Gradescope does not document ("Autograder Specifications": the
/// fields of the file, of a test and of the leaderboard), or in another type. Empty: nothing.
inline std::string undocumented(const nlohmann::json& results) {
  const std::vector<std::string> visible = {"hidden", "after_due_date", "after_published",
                                            "visible"};
  const std::vector<std::string> formats = {"text", "html", "simple_format", "md", "ansi"};
  std::string problems;
  const auto check =
      [&](const nlohmann::json& object,
          const std::map<std::string, std::function<bool(const nlohmann::json&)>>& fields) {
        for (const auto& [name, value] : object.items()) {
          const auto field = fields.find(name);
          if (field == fields.end() || !field->second(value))
            problems += name + " " + value.dump() + "; ";
        }
      };
  const auto number = [](const nlohmann::json& value) { return value.is_number(); };
  const auto text = [](const nlohmann::json& value) { return value.is_string(); };
  const auto list = [](const nlohmann::json& value) { return value.is_array(); };
  const auto object = [](const nlohmann::json& value) { return value.is_object(); };
  const auto visibility = [&](const nlohmann::json& value) { return is_one_of(value, visible); };
  const auto format = [&](const nlohmann::json& value) { return is_one_of(value, formats); };
  check(results, {{"score", number},
                  {"execution_time", number},
                  {"output", text},
                  {"output_format", format},
                  {"test_output_format", format},
                  {"test_name_format", format},
                  {"visibility", visibility},
                  {"stdout_visibility", visibility},
                  {"extra_data", object},
                  {"tests", list},
                  {"leaderboard", list}});
  if (!results.contains("score") && !results.contains("tests")) problems += "no score; ";
  for (const auto& each : results.value("tests", nlohmann::json::array())) {
    check(each, {{"score", number},
                 {"max_score", number},
                 {"status",
                  [](const auto& value) {
                    return is_one_of(value, {"passed", "failed"});
                  }},
                 {"name", text},
                 {"name_format", format},
                 {"number", text},
                 {"output", text},
                 {"output_format", format},
                 {"tags", list},
                 {"visibility", visibility},
                 {"extra_data", object}});
  }
  for (const auto& each : results.value("leaderboard", nlohmann::json::array())) {
    check(each,
          {{"name", text},
           {"value", [](const auto& value) { return value.is_number() || value.is_string(); }},
           {"order", [](const auto& value) {
              return is_one_of(value, {"asc", "desc"});
            }}});
    if (!each.contains("name") || !each.contains("value")) problems += "a line of no one; ";
  }
  return problems;
}

}  // namespace convlab::grader::testing
