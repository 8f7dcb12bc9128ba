#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/given_file.hpp"
#include "grader/checks/rules.hpp"
#include "grader/result/finding.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// A fault under CUDA's rules that does not change the result on a GPU, and the emulated program in
/// which it does not change the result either.
struct Luck {
  Finding finding{};
  std::filesystem::path program{};
  std::vector<std::string> environment{};
};

/// Finds out whether GPUs forgive a fault of an emulated program: a read beyond an allocation whose
/// value is not used (E-outside), or lanes of a warp that read values of other lanes without a
/// barrier (E-warp-sync).
/// @param cases  small ones, which are tried
/// @param found  what the emulated device found
/// @return nothing if the result is wrong in any case
std::optional<Luck> find_luck(const BuildEmulated& build, const StageInfo& stage,
                              const std::vector<ElementCase>& cases, std::uint64_t seed,
                              const Finding& found);

/// A GPU reports that something failed; the emulated program, which runs the case once more,
/// reports where.
/// @param found  what the GPU found
/// @return nothing if the emulated program knows no more
std::optional<Finding> look_closer(const BuildEmulated& build, const SourceText& sources,
                                   const StageInfo& stage, const ElementCase& test,
                                   std::uint64_t seed, const Finding& found);

/// The first finding of the emulated program: in these cases, in another order of its threads and
/// streams, or in memory that it does not free. None if there is none, or no such program.
/// @param sources  of the program, whose lines and names the finding quotes
std::optional<Finding> rehearse(const BuildEmulated& build, const SourceText& sources,
                                const StageInfo& stage, const CasePlan& plan, std::uint64_t seed);

/// A loop with `#pragma omp parallel for` whose threads share a variable. Optimised code may keep
/// it in a register, so that the result is right by luck; without optimisation it is wrong.
/// @param build  of the same file, without optimisation
std::optional<Finding> find_shared_variable(const std::function<std::filesystem::path()>& build,
                                            const SourceText& sources, const StageInfo& stage,
                                            std::uint64_t seed);

/// Whether the order of lanes or neighbouring memory can cause this finding.
bool may_be_luck(const Finding& finding);

/// Whether it is a mistake under CUDA's rules on every device, even if the result is right.
bool holds_everywhere(const Finding& finding);

/// The same cases with so few images that emulation is quick.
std::vector<ElementCase> with_few_images(std::vector<ElementCase> cases);

}  // namespace convlab::grader
