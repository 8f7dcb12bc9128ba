#pragma once

#include <algorithm>
#include <string>

#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

inline bool has(const EditableFile& file, Kind kind, std::size_t line, const std::string& after) {
  const auto edits = file.edits();
  return std::ranges::any_of(edits, [&](const Edit& edit) {
    return edit.kind == kind && edit.lines.contains(line) && edit.after == after;
  });
}

}  // namespace convlab::grader::mend
