#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/precision.hpp"
#include "grader/checks/probe/fact.hpp"
#include "grader/checks/probe/program.hpp"

namespace convlab::grader::probe {

/// Whether small whole numbers, which bfloat16 holds and adds up exactly, come out right but for
/// small errors: then no index and no term is wrong.
bool only_rounds(Program& program, const std::vector<ConvShape>& shapes);

/// What a program rounds that only rounds: one example that can be followed by hand, and its cause.
/// @param shape        with three taps at least
/// @param may_be_half  its class allows input and weights of 11 bits
Fact measure_rounding(Program& program, const ConvShape& shape, bool may_be_half);

/// The class that its roundings show; nothing if it computes something else.
std::optional<Precision> precision_of(Program& program, const ConvShape& shape);

/// Of a program whose output is infinite: whether small numbers come out right and large ones as
/// infinity.
std::optional<Fact> find_overflow(Program& program, const ConvShape& shape);

}  // namespace convlab::grader::probe
