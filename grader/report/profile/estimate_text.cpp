#include "grader/report/profile/estimate_text.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "grader/report/numbers.hpp"

namespace convlab::grader {

namespace {

constexpr double kMilliseconds = 1e3;

std::string two_digits(double number) {
  if (number <= 0.0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 1.0);
  std::ostringstream text;
  text << std::round(number / unit) * unit;
  return text.str();
}

}  // namespace

PageSection estimate_section(const std::vector<Estimate>& estimates, const EstimateModel& model,
                             int batch) {
  Table table{.heading = {"GPU", "op time, ms", "limited by", "it alone"}};
  for (const Estimate& each : estimates) {
    table.rows.push_back(
        {each.gpu + (each.is_tested ? "" : " *"),
         two_digits(each.low * kMilliseconds) + " to " + two_digits(each.high * kMilliseconds),
         limited_by(each),
         std::to_string(std::lround(100.0 * each.limits[0].seconds / each.seconds)) + " %"});
  }
  const bool all_tested = std::ranges::all_of(estimates, &Estimate::is_tested);
  const std::string note =
      model.error +
      (all_tested ? ""
                  : " On a GPU with a star nothing was ever measured: there the error is "
                    "unknown.") +
      " \"It alone\" is the share of the estimate that the limit would take by itself: the "
      "nearer to 100 %, the more a change of anything else is in vain. Two limits are named if "
      "they are within 20 %. Estimates give no points.";
  return {"Estimate for " + grouped(batch) + " images; nothing was measured",
          {table, Paragraph{note}}};
}

}  // namespace convlab::grader
