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

/// A fault by CUDA's rules that does not show in the result on a GPU, and the emulated program in
/// which it does not show either.
struct Luck {
  Finding finding{};
  std::filesystem::path program{};
  std::vector<std::string> environment{};
};

/// Asks whether a fault of an emulated program is one that GPUs forgive: a read beyond an
/// allocation whose value nobody uses (E-outside), or lanes of a warp that read what others wrote
/// without a barrier (E-warp-sync).
/// @param cases  small ones, which are tried
/// @param found  what the emulated device found
/// @return nothing if the result is wrong in any case
std::optional<Luck> find_luck(const BuildEmulated& build, const StageInfo& stage,
                              const std::vector<ElementCase>& cases, std::uint64_t seed,
                              const Finding& found);

/// A GPU tells that something went wrong; the emulated program, which runs the case once more,
/// tells where.
/// @param found  what the GPU found
/// @return nothing if the emulated program knows no more
std::optional<Finding> look_closer(const BuildEmulated& build, const SourceText& sources,
                                   const StageInfo& stage, const ElementCase& test,
                                   std::uint64_t seed, const Finding& found);

/// The first finding of the emulated program: in these cases, in another order of its threads and
/// streams, or in what it leaves allocated. None if there is none, or no such program.
/// @param sources  of the program, whose lines and names the finding quotes
std::optional<Finding> rehearse(const BuildEmulated& build, const SourceText& sources,
                                const StageInfo& stage, const CasePlan& plan, std::uint64_t seed);

/// A loop with `#pragma omp parallel for` whose threads share a variable. Optimised code may keep
/// it in a register, so that the result is right by luck; without optimisation it is wrong.
/// @param build  of the same file, without optimisation
std::optional<Finding> find_shared_variable(const std::function<std::filesystem::path()>& build,
                                            const SourceText& sources, const StageInfo& stage,
                                            std::uint64_t seed);

/// Not for findings that no order of lanes and no neighbouring memory can bring about.
bool may_be_luck(const Finding& finding);

/// Whether CUDA's rules make it a mistake wherever it runs, also where the result is right.
bool holds_everywhere(const Finding& finding);

/// The same cases with so few images that emulation is quick.
std::vector<ElementCase> with_few_images(std::vector<ElementCase> cases);

}  // namespace convlab::grader
