#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/custom_submission.hpp"
#include "grader/checks/result/evidence.hpp"
#include "grader/checks/rules.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Of one convolution that is not observed; none: from its size.
using TimeLimit = std::optional<std::chrono::milliseconds>;

/// Times the limit, for what was late once.
inline constexpr double kPatience = 4.0;

/// Runs the plan's repeated cases with every access to memory observed (common/emulation/trace). A
/// file may notice that it is observed, but must be built and right then, too. What takes too long
/// gets more time once.
/// @param sources  of the program, whose lines and names the finding quotes
/// @param is_known  what is wrong: only races are looked for
/// @param host      what it may compute, as it was found
Record observe_accesses(const EmulatedProgram& traced, const SourceText& sources,
                        const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                        bool is_known, const TimeLimit& limit = {},
                        const Submission::Settings& host = {});

/// Of a CPU's file: two threads of an OpenMP region use a variable that they share, one of them to
/// change it, and nothing orders them (common/custom_submission/openmp_races.cpp).
/// @param program  the file, built so that its accesses are observed; may be empty
Record find_openmp_race(const std::filesystem::path& program, const SourceText& sources,
                        const StageInfo& stage, std::uint64_t seed, const TimeLimit& limit);

/// How a call ended.
RunEnd end_of(const std::optional<Failure>& failure, bool is_right);

}  // namespace convlab::grader
