#pragma once

#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// A finding without its place: what it is called, what it usually means, what to do next.
/// docs/diagnoses.md explains each one at length.
struct Diagnosis {
  const char* id;
  const char* title;
  const char* cause;
  const char* next;
};

/// Every diagnosis that this grader can give.
const std::vector<Diagnosis>& catalogue();

/// The diagnosis `id` with what was seen. @throws std::out_of_range for an id that is not in the
/// catalogue
Finding finding(const std::string& id, const std::string& seen);

/// Why there is no output. `where` says what was asked: "case 'stride 2' (B=1 …)".
Finding explain(const Failure& failure, const std::string& where);

}  // namespace convlab::grader
