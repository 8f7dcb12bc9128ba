#pragma once

#include <string>
#include <vector>

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

/// One line of a CSV file, with its line end; see csv_field.
std::string csv_line(const std::vector<std::string>& fields);

/// The rows of a CSV text. @throws UsageError with the line of a quote that does not end
std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& name);

}  // namespace convlab::grader
