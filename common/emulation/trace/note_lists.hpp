#pragma once

#include <vector>

#include "common/base/device_notes.hpp"

namespace convlab::emulation {

// Lists in which notes of the same thing are one: an unrolled loop is one line at several places of
// the program.

void add(std::vector<AccessNote>& notes, const AccessNote& note);
void add(std::vector<BarrierNote>& notes,
         const BarrierNote& note);  ///< needs of one pair of lines, too
void add(std::vector<ProductNote>& notes, const ProductNote& note);

/// A message to the grader has room for a hundred lines. What others do stays in the sums, because
/// points follow from them.
void shorten(AccessNotes& notes);

}  // namespace convlab::emulation
