#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/serve/finding.hpp"
#include "common/serve/source_text.hpp"

namespace convlab {

/// What findings.txt says of an id or of a variant. docs/diagnoses.md explains each id at length.
struct FindingWords {
  std::string id{};
  std::string title{};
  std::string kinds{};  ///< words, see findings.txt; so are look and skip
  std::string look{};
  std::string skip{};
  std::string seen{};
  std::string cause{};
  std::string next{};
};

/// Every id that there is, from findings.txt.
/// @throws EnvironmentError if the workbook's folder lacks the file
const std::vector<FindingWords>& catalogue();

/// Whether findings.txt says that it is of this kind.
bool is_of_kind(const Finding& finding, const std::string& kind);

/// The ids of this kind.
std::set<std::string> ids_of_kind(const std::string& kind);

/// Whether findings.txt has this variant.
bool is_variant(const std::string& name);

/// A text with values in place of {0}, {1}, …; of "{0 byte}" with "1" is "1 byte", with "5"
/// "5 bytes".
std::string filled_in(std::string text, const std::vector<std::string>& values);

/// A finding with what a variant, "E-outside/freed", says beyond its id; empty where it says the
/// same. A cause that begins with a blank is added to another one.
/// @throws std::out_of_range
/// @param values  for {0}, {1}, …
Finding said(const std::string& variant, const std::vector<std::string>& values = {});

/// A text that names the milestone in place of MILESTONE.
std::string with_milestone(std::string text, const std::string& milestone);

/// The sentences that hold of these sources: "{if WORD WORD: Sentence.}" only if they have a word.
std::string for_sources(std::string text, const SourceText& sources);

/// Cause and next step of a finding, of this milestone and of these sources.
void address(Finding& finding, const std::string& milestone, const SourceText& sources);

/// The finding takes the id, the cause and the next step that a variant says.
void say(Finding& finding, const std::string& variant, const std::vector<std::string>& values = {});

}  // namespace convlab
