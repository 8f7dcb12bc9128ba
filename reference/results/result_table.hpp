#pragma once

#include <functional>
#include <string>
#include <vector>

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

/// A Markdown table of some stages, in the given order: a column per batch with the sum over the
/// convolutions, then both convolutions and the layer time at the largest batch; times as above. A
/// stage that was not measured on a GPU is left out; where none was, a sentence says so.
std::string stage_table(const std::vector<Result>& results, const std::vector<std::string>& stages);

/// A Markdown table for several GPUs: a row per stage (all, or the given ones) in the order of the
/// ladder; for each GPU the sum of the op times at the largest batch, and what part of it the limit
/// is. The limit of a convolution is the larger of the bounds that the result has for the stage's
/// precision: memory, and for fp32 also arithmetic.
std::string limits_table(const std::vector<Result>& results,
                         const std::vector<std::string>& stages);

/// The page with every table made again. A table lies between two lines; the first names the
/// result files and the kind of table: `results` for result_table or, with stages, stage_table;
/// `layers` for layer_table, `limits` for limits_table.
///
///     <!-- results: reference/results/m1.json -->
///     <!-- end of results -->
///
/// and that of some stages, of which one may be in another file, between
///
///     <!-- results: m3.json m4.json stages: restrict-unroll winograd -->
///     <!-- end of results -->
///
/// @param read  yields the result of that file, named as on the page
/// @throws EnvironmentError if a first line has no second.
std::string with_tables(const std::string& page,
                        const std::function<Result(const std::string& file)>& read);

}  // namespace convlab
