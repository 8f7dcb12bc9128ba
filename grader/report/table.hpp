#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/measure/counters.hpp"

namespace convlab::grader {

/// A table of texts, in any form that a report needs. The first column has words, the others have
/// numbers and are aligned to the right.
struct Table {
  std::vector<std::string> heading{};
  std::vector<std::vector<std::string>> rows{};  ///< each as long as the heading
};

std::string plain_table(const Table& table);
std::string markdown_table(const Table& table);
std::string html_table(const Table& table);

/// Without the columns that say nothing in any row.
void drop_empty_columns(Table& table);

/// One line of a CSV file, with its line end; see csv_field.
std::string csv_line(const std::vector<std::string>& fields);

/// The rows of a CSV text. @throws UsageError with the line of a quote that does not end
std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& name);

/// "1 234 567": groups of three, as the chapters write large numbers, with no-break spaces.
std::string grouped(std::int64_t number);

/// "5", "5.2": at most one digit behind the point.
std::string short_number(double number);

/// "2026-11-20" of "2026-11-20T23:40:00Z".
inline std::string date_of(const std::string& time) {
  return time.substr(0, 10);
}

/// "12 %" for 0.12.
std::string percent(double share);

/// The counters of all kernels together: name, value.
Table counter_table(const StageCounts& counts);

}  // namespace convlab::grader
