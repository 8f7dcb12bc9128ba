#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "grader/checks/probe/dense_run.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

std::string number(std::int64_t value);
std::string real(double value);  ///< seven digits

// "(b=0, m=1, h=2, w=3)"; for a flat index also its array, or that it is outside.
std::string output_text(const Label& at);
std::string pixel_text(const ConvShape& s, std::int64_t index);
std::string weight_text(const ConvShape& s, std::int64_t index);

std::string shapes_text(const std::vector<ConvShape>& shapes);
/// With a capital letter and a full stop.
std::string sentence(std::string text);
std::string joined(const std::vector<std::string>& parts, const std::string& between);

/// Two pictures of one plane side by side: the pixels that an output should use, and those it uses,
/// with one pixel around them. Empty if they would be large.
std::string picture(const ConvShape& s, std::int64_t plane, const std::set<std::int64_t>& right,
                    const std::set<std::int64_t>& found);

/// Expected and found numbers around the first wrong element, side by side.
std::string neighbourhood(const DenseRun& run);

}  // namespace convlab::grader::probe
