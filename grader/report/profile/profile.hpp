#pragma once

#include <string>
#include <vector>

#include "grader/measure/counters.hpp"
#include "grader/measure/estimate.hpp"
#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// "Counted on the emulated device, in convolution 2 of fa23 with one image: B=1 M=16 …"
/// @param layer  0: of no network
std::string counted_where(const StageCounts& counts, const std::string& network, int layer);

/// "load", "store" or "atomic".
std::string access_name(const AccessNote& note);

/// "sectors", "passes" or "words": the parts of a request to this kind of memory.
std::string parts_name(const std::string& space);

/// The profile as a page: all counters, each kernel, and the source with the counts beside its
/// lines.
/// @param title   "m3, tiled-shared"
/// @param where   counted_where()
Page profile_page(const StageCounts& counts, const SourceText& sources, const std::string& title,
                  const std::string& where);

/// For a page or a terminal: GPU, range of op times, what limits it and how much of the estimate
/// that limit alone takes; how far such numbers were off where op times were measured. A star marks
/// a GPU on which ConvLab never measured.
PageSection estimate_section(const std::vector<Estimate>& estimates, const EstimateModel& model,
                             int batch);

/// The explanation of a passed file: launch, what a thread holds, every line that accesses memory,
/// each barrier. At most kColumns wide; every number was counted.
std::string walk_text(const StageCounts& facts, const SourceText& sources);

}  // namespace convlab::grader
