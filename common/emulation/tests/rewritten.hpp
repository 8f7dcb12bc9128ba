#pragma once

#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::testing {

inline rewrite::Rewritten rewritten(const std::string& text) {
  rewrite::Source source(text);
  return rewrite::rewrite(text, source, rewrite::collect_names({&source}));
}

/// "line: message" of the one thing that the rewrite refuses.
inline std::string only_complaint(const std::string& text) {
  const rewrite::Rewritten result = rewritten(text);
  REQUIRE(result.diagnostics.size() == 1);
  return std::to_string(result.diagnostics[0].line) + ": " + result.diagnostics[0].message;
}

}  // namespace convlab::testing
