// Nsight Compute's page "details" has a line for each launch and counter: which kernel, the
// section, the counter's name, its unit and value. Its page "raw" has a line for each launch and a
// column for each counter, under other names, with the units in a line of their own. A launch is
// told by its "ID".
#include "grader/report/pages/counters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

namespace {

constexpr const char* kHowToWrite =
    "; write it with: ncu --set full --csv --page details PROGRAM > FILE";

// "1,234.5" is a number, too.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Only the lines of the table: those of the program do not begin with a quote.
std::string table_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(table.empty() ? "\"ID\"" : "\"")) table += line + "\n";
  }
  return table;
}

double nanoseconds(double value, const std::string& unit) {
  if (unit.starts_with("n")) return value;
  if (unit.starts_with("u")) return value * 1e3;
  return value * (unit.starts_with("m") ? 1e6 : 1e9);
}

/// The counters of one launch.
struct Launch {
  double nanoseconds = 0.0;
  std::map<std::string, double> counters{};
};

std::optional<double> mean(const std::map<std::string, Launch>& launches,
                           std::string_view counter) {
  double sum = 0.0;
  double weights = 0.0;
  for (const auto& [id, launch] : launches) {
    const auto found = launch.counters.find(std::string(counter));
    if (found == launch.counters.end()) continue;
    sum += found->second * launch.nanoseconds;
    weights += launch.nanoseconds;
  }
  if (!(weights > 0.0)) return std::nullopt;
  return sum / weights;
}

using Rows = std::vector<std::vector<std::string>>;

std::optional<std::size_t> column_of(const Rows& rows, const char* heading) {
  const auto found = std::find(rows[0].begin(), rows[0].end(), heading);
  if (found == rows[0].end()) return std::nullopt;
  return static_cast<std::size_t>(std::distance(rows[0].begin(), found));
}

constexpr std::string_view kCompute = "Compute (SM) Throughput";
constexpr std::string_view kMemory = "Memory Throughput";
constexpr std::string_view kL1 = "L1/TEX Cache Throughput";
constexpr std::string_view kOccupancy = "Achieved Occupancy";
constexpr std::string_view kDuration = "Duration";

std::map<std::string, Launch> raw_launches(const Rows& rows) {
  // The page "details" gives these names to these counters.
  constexpr std::array<std::pair<const char*, std::string_view>, 5> kNames = {{
      {"gpu__time_duration.sum", kDuration},
      {"sm__throughput.avg.pct_of_peak_sustained_elapsed", kCompute},
      {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", kMemory},
      {"l1tex__throughput.avg.pct_of_peak_sustained_active", kL1},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", kOccupancy},
  }};
  std::map<std::string, Launch> launches;
  for (const auto& [raw, name] : kNames) {
    const std::optional<std::size_t> column = column_of(rows, raw);
    if (!column) continue;
    for (std::size_t i = 2; i < rows.size(); ++i) {
      if (rows[i].size() <= *column || rows[1].size() <= *column) continue;
      const std::optional<double> number = number_of(rows[i][*column]);
      if (!number) continue;
      Launch& launch = launches[rows[i][0]];
      if (name == kDuration) {
        launch.nanoseconds = nanoseconds(*number, rows[1][*column]);
      } else {
        launch.counters.emplace(std::string(name), *number);
      }
    }
  }
  return launches;
}

std::map<std::string, Launch> detailed_launches(const Rows& rows, std::size_t counter,
                                                const std::string& name) {
  const auto column = [&](const char* heading) {
    const auto found = column_of(rows, heading);
    if (!found) throw UsageError(name + " has no column '" + heading + "'" + kHowToWrite);
    return *found;
  };
  const std::size_t unit = column("Metric Unit");
  const std::size_t value = column("Metric Value");
  std::map<std::string, Launch> launches;
  for (const auto& row : rows) {
    if (row.size() <= std::max({counter, unit, value})) continue;
    const std::optional<double> number = number_of(row[value]);
    if (!number) continue;
    Launch& launch = launches[row[0]];
    if (row[counter] == kDuration) launch.nanoseconds = nanoseconds(*number, row[unit]);
    // Another section gives "Memory Throughput" in bytes per second.
    if (row[unit] == "%") launch.counters.emplace(row[counter], *number);
  }
  return launches;
}

}  // namespace

Counters parse_counters(const std::string& text, const std::string& name) {
  const Rows rows = parse_csv(table_lines(text), name);
  if (rows.empty()) throw UsageError(name + " holds no table of Nsight Compute" + kHowToWrite);
  const std::optional<std::size_t> counter = column_of(rows, "Metric Name");
  const auto launches = counter ? detailed_launches(rows, *counter, name) : raw_launches(rows);
  const Counters counters{.compute = mean(launches, kCompute),
                          .memory = mean(launches, kMemory),
                          .l1 = mean(launches, kL1),
                          .occupancy = mean(launches, kOccupancy)};
  if (!counters.compute && !counters.memory && !counters.l1 && !counters.occupancy) {
    throw UsageError(name + " holds no throughput, no occupancy or no duration" + kHowToWrite);
  }
  return counters;
}

StageCounters read_counters(const std::string& argument) {
  const auto at = argument.find('@');
  const auto equals = argument.find('=', at == std::string::npos ? 0 : at);
  StageCounters read;
  if (at != std::string::npos && equals != std::string::npos) {
    read.stage = argument.substr(0, at);
    std::from_chars(argument.data() + at + 1, argument.data() + equals, read.batch);
  }
  if (read.stage.empty() || read.batch < 1) {
    throw UsageError("--ncu takes STAGE@BATCH=FILE, such as tiled-shared@10000=tiled.csv, not '" +
                     argument + "'.");
  }
  const std::string file = argument.substr(equals + 1);
  read.counters = parse_counters(read_text(file), file);
  return read;
}

}  // namespace convlab::grader
