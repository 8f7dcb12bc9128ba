#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/checks/result/finding.hpp"

namespace convlab::grader {

/// "12.3 ±0.4": median and half the interquartile range, in milliseconds, three digits.
std::string time_text(const std::vector<double>& samples);

/// The heading of the table of runs; the rows are run_row.
std::string run_heading(std::size_t layers);
std::string run_row(const RunResult& run);

/// The lines of a finding behind a label, wrapped. Indented ones stay as they are: a quoted line of
/// a source, and a caret that points at the character above it.
std::string lines_text(std::string label, const std::string& of);

/// A finding in full: what, where, why, what next.
std::string finding_text(const Finding& finding);

/// A finding whose cause and next step another stage has shown already: what and where.
std::string repeated_finding_text(const Finding& finding, const std::string& other_stage);

}  // namespace convlab::grader
