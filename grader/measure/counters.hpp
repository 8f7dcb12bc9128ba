#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/serve/finding.hpp"
#include "common/stage/stage.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The counts of one convolution of one image on the emulated device.
struct StageCounts {
  StageInfo stage{};
  ConvShape shape{};
  std::vector<DeviceLaunch> launches{};
  AccessNotes counted{};
  std::int64_t allocated = 0;  ///< bytes
  /// Of the output the part that products on tensor cores, or of halves, make; other such products
  /// are for nothing.
  double product_part = 1.0;
  std::map<std::string, double> parts{};   ///< what count_parts() has found
  std::map<std::string, int> registers{};  ///< of a thread, by kernel; none if unknown
};

/// A run in a program that was built to be traced.
struct TracedRun {
  Arrays arrays{};  ///< valid until the next run
  Call call{};
  std::optional<Finding> finding{};  ///< a race, or why there is no output
};

/// @param mode      of CONVLAB_EMU_TRACE
/// @param settings  further variables of the emulated device
/// @param has_whole_numbers  so that every right order of summation gives the same
TracedRun run_traced(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                     const std::string& mode, const std::vector<std::string>& settings = {},
                     bool has_whole_numbers = false);

/// A convolution like this one, of a batch and an image that nobody knows beforehand, neither
/// larger: what a stage shows there, it does not keep for the shapes that it knows. The image is a
/// little smaller; a tile wastes no more of it than of the network's.
ConvShape drawn_like(ConvShape shape);

/// Counts one run of a program that was built to be traced. Its output must be right: then the
/// kernels that were counted have computed it, whatever the stage does in other runs.
/// @param layer  of the network; its batch does not matter
std::optional<Finding> count_accesses(Submission& submission, const StageInfo& stage,
                                      const ConvShape& layer, StageCounts& counts);

/// The same of a stage whose output may be wrong.
/// @return a finding if its threads race, or, without counts, if it gives no output
std::optional<Finding> count_stage(Submission& submission, const StageInfo& stage,
                                   const ConvShape& layer, StageCounts& counts);

/// What the output is made by, for those of these counters that have Counter::is_part: the stage
/// runs again, and the device leaves out a part of its work (CONVLAB_EMU_WORK).
/// @param shape  of the convolution that is run, with so many images that a stage may divide them
void count_parts(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                 const std::vector<std::string>& ids, StageCounts& counts);

/// One kernel of a stage, as it was launched, with the requests of its warps.
struct KernelCounts {
  DeviceLaunch launch{};
  int launches = 0;
  std::int64_t blocks = 0;           ///< of the first launch
  std::int64_t launched_blocks = 0;  ///< of all launches, whose requests and barriers are counted
  std::int64_t threads = 0;
  int registers = 0;  ///< of a thread; 0: unknown
  std::vector<AccessNote> accesses{};
  std::vector<BarrierNote> barriers{};
  std::int64_t storing = 0;  ///< threads that store an element of the output
  std::vector<ProductNote> products{};
};

/// The kernels in the order of their launches; each of them once.
std::vector<KernelCounts> kernels_of(const StageCounts& counts, const SourceText& sources);

/// The kernel's parameter or the variable; "shared memory" if unknown.
std::string array_name(const FaultMemory& memory, const std::string& space,
                       const std::string& kernel, const SourceText& sources);

/// "input", "weights" or "output": the convolution's array with this size; empty if there is none.
std::string array_role(const FaultMemory& memory, const std::string& space,
                       const std::string& kernel, const ConvShape& shape,
                       const SourceText& sources);

/// Loads of the input from global memory, per element of the input.
double loads_per_input(const StageCounts& counts, const SourceText& sources);

/// How a stage treats the input as a matrix: of C·K² rows, with a column for each output pixel.
struct Unrolling {
  /// Of this matrix what is put into global or shared memory; or loaded into registers, if such a
  /// load serves two products or more. Less than 1 if an input is put there once for several of its
  /// places in the matrix; near 0 if each product loads it from global memory.
  double part = 0.0;
  double loads_per_product = 0.0;  ///< of other numbers than weights, from global memory
};

Unrolling unrolling_of(const StageCounts& counts, const SourceText& sources);

/// Loads of threads, per multiply-add of the convolution.
double loads_per_product(const StageCounts& counts);

/// Multiply-adds that are made for each that the convolution needs: 2 where half of the threads
/// have no output and compute all the same.
double products_made(const StageCounts& counts);

/// Sectors that the lanes of an average request need at least, if they lie side by side.
double needed_sectors(const AccessNote& note);

/// Parts of an average request.
double average_parts(const AccessNote& note);

/// A number that tells one technique from another, for all kernels of a stage together.
struct Counter {
  std::string_view id;                              ///< in scores.json: "loads-per-product"
  std::string_view title;                           ///< "loads for each multiply-add"
  bool is_share;                                    ///< shown in percent
  std::function<double(const StageCounts&)> value;  ///< NaN: the stage has nothing of this kind
  bool is_technique = false;                        ///< only for points: no table shows it
  bool is_part = false;                             ///< known after count_parts()
};

/// All counters, in the order of tables. docs/profile.md defines each.
const std::vector<Counter>& counters();

/// Their values by id, without those that are NaN.
std::map<std::string, double> values_of(const StageCounts& counts);

/// @return null if there is none with this id
const Counter* find_counter(std::string_view id);

/// Bytes of shared memory that a block of the kernel was seen to use, by array.
std::int64_t shared_bytes_of(const KernelCounts& kernel);

}  // namespace convlab::grader
