#pragma once

#include <functional>
#include <string>

#include "common/result/result.hpp"

namespace convlab {

/// A Markdown table of the op times in a result: a row per stage in the order of the ladder, then
/// the libraries it was compared with; a column per batch with the sum over the convolutions
/// (median of the samples, milliseconds); the speed-up against the first row at the largest batch.
/// Below it one line says where and how that was measured.
///
/// Emulated runs are left out: they have no op time. If a stage was measured twice at one batch,
/// the later run counts.
/// @throws EnvironmentError if nothing is left to show, or the runs are of several networks.
std::string result_table(const Result& result);

/// The same result with a row for each stage and batch, and a column for the op time and the layer
/// time of each convolution (medians, milliseconds).
/// @throws EnvironmentError as result_table
std::string layer_table(const Result& result);

/// Makes every table of a page anew. A table stands between two lines, the first of which names the
/// result file and the kind of table: `results` for result_table, `layers` for layer_table.
///
///     <!-- results: reference/results/m1.json -->
///     <!-- end of results -->
///
/// @param read  yields the result of that file, named as on the page
/// @throws EnvironmentError if a first line has no second.
std::string with_tables(const std::string& page,
                        const std::function<Result(const std::string& file)>& read);

}  // namespace convlab
