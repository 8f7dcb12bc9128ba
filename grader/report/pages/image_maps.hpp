#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/report/pages/page.hpp"

namespace convlab::grader {

/// One test image in a network: the image, and for each convolution the maps that a stage computed,
/// with marks on the elements that differ from the oracle. Every convolution gets the right input,
/// even after a wrong one.
/// @param program  the milestone's executable, which runs in its isolation
/// @param stage    empty: its first one
/// @param image    number of the test image, from 0
/// @throws UsageError for an unknown stage or image; EnvironmentError for missing data
std::vector<PageBlock> image_maps(const std::filesystem::path& program, const std::string& stage,
                                  const std::string& network, int image);

}  // namespace convlab::grader
