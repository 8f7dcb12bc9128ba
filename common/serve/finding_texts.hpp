#pragma once

#include <string>
#include <vector>

namespace convlab {

/// The part of a finding that is always the same: its name, what it usually means, what to do next.
/// docs/diagnoses.md explains each one at length.
struct Diagnosis {
  std::string id{};
  std::string title{};
  std::string kinds{};  ///< words, see findings.txt
  std::string seen{};
  std::string cause{};
  std::string next{};
};

/// Every finding that there is, from findings.txt.
/// @throws EnvironmentError if the workbook's folder lacks the file
const std::vector<Diagnosis>& catalogue();

/// What a variant of a finding, "E-outside/freed", says in its place; empty where it says the same.
/// A cause that begins with a blank is added to another one.
/// @throws std::out_of_range
/// @param values  for {0}, {1}, …
Diagnosis variant(const std::string& name, const std::vector<std::string>& values = {});

}  // namespace convlab
