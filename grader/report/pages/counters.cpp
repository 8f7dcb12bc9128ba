// Nsight Compute's page "details" has a line for each launch and counter: which kernel, the
// section, the counter's name, its unit and value. A launch is told by its "ID".
#include "grader/report/pages/counters.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

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
                           const std::string& counter) {
  double sum = 0.0;
  double weights = 0.0;
  for (const auto& [id, launch] : launches) {
    const auto found = launch.counters.find(counter);
    if (found == launch.counters.end()) continue;
    sum += found->second * launch.nanoseconds;
    weights += launch.nanoseconds;
  }
  if (!(weights > 0.0)) return std::nullopt;
  return sum / weights;
}

}  // namespace

Counters parse_counters(const std::string& text, const std::string& name) {
  const auto rows = parse_csv(table_lines(text), name);
  if (rows.empty()) throw UsageError(name + " holds no table of Nsight Compute" + kHowToWrite);
  const auto column = [&](const char* heading) {
    const auto found = std::ranges::find(rows[0], heading);
    if (found != rows[0].end()) return static_cast<std::size_t>(found - rows[0].begin());
    throw UsageError(name + " has no column '" + heading + "'" + kHowToWrite);
  };
  const std::size_t counter = column("Metric Name");
  const std::size_t unit = column("Metric Unit");
  const std::size_t value = column("Metric Value");
  std::map<std::string, Launch> launches;
  for (const auto& row : rows) {
    if (row.size() <= std::max({counter, unit, value})) continue;
    const std::optional<double> number = number_of(row[value]);
    if (!number) continue;
    Launch& launch = launches[row[0]];
    if (row[counter] == "Duration") launch.nanoseconds = nanoseconds(*number, row[unit]);
    // Another section gives "Memory Throughput" in bytes per second.
    if (row[unit] == "%") launch.counters.emplace(row[counter], *number);
  }
  const Counters counters{.compute = mean(launches, "Compute (SM) Throughput"),
                          .memory = mean(launches, "Memory Throughput"),
                          .l1 = mean(launches, "L1/TEX Cache Throughput"),
                          .occupancy = mean(launches, "Achieved Occupancy")};
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
