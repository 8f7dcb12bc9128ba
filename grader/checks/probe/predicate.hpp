#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

/// Something that a rule may ask about: a name and its value in each sample.
struct Feature {
  std::string name{};
  std::vector<std::int64_t> values{};
  std::string end{};         ///< what the values are counted from: "C" makes "c = C - 1" of -1
  bool only_bounds = false;  ///< single values in the middle mean nothing
  bool is_flag = false;      ///< 0 or 1, and the name says it all
  int cost = 1;
};

/// The simplest rule that holds for exactly the marked samples: one test of a feature, or two
/// joined. Tests are =, ≠, ≥ and <.
struct Rule {
  struct Part {
    std::string name{};
    std::string relation{};
    std::int64_t value = 0;
    std::string end{};
  };
  std::string text{};
  int cost = 0;
  std::vector<Part> parts{};
  bool all = true;  ///< parts are joined by "and", else by "or"
};

/// The best rules without exception, the simplest first; empty if there is none.
/// @param most  how many at most
std::vector<Rule> find_rules(const std::vector<Feature>& features, const std::vector<bool>& marked,
                             std::size_t most = 1);

/// For which of these samples a rule of others holds.
std::vector<bool> where_it_holds(const Rule& rule, const std::vector<Feature>& features);

/// Features of a product; those of an output if there are no taps.
std::vector<Feature> features_of(const ConvShape& s, const std::vector<Label>& labels, bool taps);

/// The simplest rule for exactly what is marked, at all shapes; empty if there is none.
std::string common_rule(const std::vector<std::vector<Feature>>& features,
                        const std::vector<std::vector<bool>>& marked);

}  // namespace convlab::grader::probe
