#include "common/result/result.hpp"

#include <array>
#include <ctime>

#include "common/base/enum_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result_json.hpp"

namespace convlab {

const char* to_string(Verdict verdict) {
  return enum_name(verdict, {"measured", "passed", "failed"});
}

StageInfo info_of(const Stage& stage) {
  return {.id = stage.id,
          .title = stage.title,
          .baseline = stage.baseline,
          .precision = stage.precision,
          .order = stage.order,
          .only_for = stage.only_for};
}

std::string utc_now() {
  return utc_text(std::time(nullptr));
}

std::string utc_text(std::int64_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

std::string to_json(const Result& result) {
  return file_text(Json(result));
}

Result parse_result(const std::string& text, const std::string& name) {
  Result result;
  read_file_text(text, name, [&](const Json& json) { json.get_to(result); });
  return result;
}

void write_result(const std::filesystem::path& file, const Result& result) {
  write_atomically(file, to_json(result));
}

Result read_result(const std::filesystem::path& file) {
  return parse_result(read_text(file), file.string());
}

}  // namespace convlab
