#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// A .tar.gz of PARENT/NAME. The same files give the same bytes: sorted names, no dates, no owners,
/// ordinary permissions. @throws EnvironmentError with tar's reason
std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name);

}  // namespace convlab::grader
