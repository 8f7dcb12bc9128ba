#pragma once

#include <functional>
#include <string>

#include "grader/checks/probe/dense_run.hpp"
#include "grader/checks/result/finding.hpp"

namespace convlab::grader::probe {

/// What was measured about a wrong program.
struct Fact {
  std::string id{};                       ///< of the catalogue
  std::string measured{};                 ///< lines; those that begin with spaces keep their form
  std::string picture{};                  ///< the pixels of one window; may be empty
  std::optional<WrongProduct> product{};  ///< an example
  std::string cause{};                    ///< empty: that of the catalogue
  std::string next{};                     ///< the same
  bool is_named = true;                   ///< of a rounding: which number, and its type
  /// Of a measured index: whether it gives the numbers of another run.
  std::function<bool(const DenseRun&)> predicts{};
};

/// With the id and the texts of this variant in findings.txt. @param values  for {0}, {1}, …
Fact told(const std::string& variant, const std::vector<std::string>& values = {});

}  // namespace convlab::grader::probe
