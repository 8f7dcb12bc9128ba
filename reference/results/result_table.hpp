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
/// Emulated runs are left out: they have no op time. Of equal stages and batches the last counts.
/// @throws EnvironmentError if nothing is left to show, or the runs are of several networks.
std::string result_table(const Result& result);

/// The page with every table made anew. A table stands between two lines
///
///     <!-- results: reference/results/m1.json -->
///     <!-- end of results -->
///
/// @param read  yields the result of that file, named as on the page
/// @throws EnvironmentError if a first line has no second.
std::string with_tables(const std::string& page,
                        const std::function<Result(const std::string& file)>& read);

}  // namespace convlab
