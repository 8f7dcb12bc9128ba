#pragma once

#include <functional>
#include <string>

#include "grader/checks/probe/dense_run.hpp"

namespace convlab::grader::probe {

/// What was measured about a wrong program.
struct Fact {
  std::string id{};        ///< of the catalogue; empty: the products of one output, without a name
  std::string measured{};  ///< lines; those that begin with spaces keep their form
  std::string cause{};     ///< empty: that of the catalogue
  std::string next{};      ///< the same
  /// Of a measured index: whether it gives the numbers of another run.
  std::function<bool(const DenseRun&)> predicts{};
};

}  // namespace convlab::grader::probe
