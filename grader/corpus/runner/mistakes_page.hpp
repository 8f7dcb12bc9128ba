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

/// How much the findings tell, in Markdown: a row for each milestone, a column for each share.
std::string shares_table(const std::vector<Mistake>& mistakes);

/// Renews docs/diagnoses.md: the section of each finding ends with the first mistake that gets it,
/// with its change and what the grader says.
/// @param table  of all shares; empty: the page keeps its own
void update_page(const std::filesystem::path& page, std::vector<ShownMistake> shown,
                 const std::string& table);

}  // namespace convlab::grader
