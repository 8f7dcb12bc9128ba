#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/corpus/runner/mistake.hpp"

namespace convlab::grader {

/// A mistake, and what the grader printed when it checked it.
struct ShownMistake {
  Mistake mistake{};
  std::string printed{};
};

/// Renews the examples of docs/diagnoses.md: the section of each finding ends with the
/// first mistake that gets it, with its change and what the grader says.
void update_page(const std::filesystem::path& page, std::vector<ShownMistake> shown);

}  // namespace convlab::grader
