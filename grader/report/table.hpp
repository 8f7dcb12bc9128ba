#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/result/result.hpp"
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

/// The elements one after the other. @param text  of an element
template <class List, class Text = std::identity>
std::string joined(const List& list, const std::string& between = ", ", Text text = {}) {
  std::string all;
  for (const auto& each : list) {
    if (&each != &*std::begin(list)) all += between;
    all += std::invoke(text, each);
  }
  return all;
}

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

/// A number that a student was shown: "the op time of convolution 2 of tiled-shared at 1000
/// images".
struct KnownNumber {
  double value = 0.0;
  std::string what{};
  std::string shown{};  ///< UTC; empty: it stands in the results
};

/// The op and layer times of a result, in milliseconds; may hold zeros.
std::vector<KnownNumber> known_times(const Result& result);

/// Which numbers of a text are known, to the digits that it gives: "14.1: the op time of …". It
/// reads "11 832" as one number, and "15.2 s" as milliseconds, too. Empty if none is known.
std::string found_numbers(const std::string& text, const std::vector<KnownNumber>& known);

/// The counters of all kernels together: name, value.
Table counter_table(const StageCounts& counts);

}  // namespace convlab::grader
