#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/element_cases.hpp"
#include "grader/result/finding.hpp"

namespace convlab::grader {

/// Builds the emulated program of a given file, on request with warps in lockstep. An empty path if
/// it cannot be built.
using BuildEmulated = std::function<std::filesystem::path(bool lockstep)>;

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

/// The first finding of the emulated program in these cases; none if they are right, or if there is
/// no such program.
std::optional<Finding> rehearse(const BuildEmulated& build, const StageInfo& stage,
                                const std::vector<ElementCase>& cases, std::uint64_t seed);

/// The same cases with so few images that emulation is quick.
std::vector<ElementCase> with_few_images(std::vector<ElementCase> cases);

}  // namespace convlab::grader
