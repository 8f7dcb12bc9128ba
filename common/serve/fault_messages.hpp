#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/fault_record.hpp"
#include "common/serve/finding_texts.hpp"
#include "common/serve/source_text.hpp"

namespace convlab {

/// What a fault means of which a device or the program left a record, in the words of the person
/// who wrote the code. `seen` is what happened and where: sentences, and quoted lines of the
/// source. A title, cause or next step that is empty is that of the id. Without an id for a fault
/// that only a signal tells (FaultKind::kSignal).
/// @param shape  of the convolution that ran, to say which row of which array was touched
Finding message_of(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                   const SourceText& sources);

/// The part of message_of for a race: both lines, both threads, what lies between, the mend.
/// @param fault  of FaultKind::kRace
Finding race_message(const FaultRecord& fault, const SourceText& sources);

/// An array of the convolution that has so many elements: "input", "weights" or "output"; empty
/// for another number, or where several have as many.
/// @param name  what the student calls it, which decides between arrays of one size
std::string array_of_size(const ConvShape& shape, long long elements, const std::string& name);

/// "`tile`[3][17]", "element 12 of `input`": a place in a piece of memory, as the student wrote it.
std::string place_text(const FaultMemory& memory, const std::string& kernel,
                       const SourceText& sources);

/// The line of a launch, below those that set what stands in its <<<…>>>.
/// @param of_memory  not those that set the grid: the rest decides how shared memory is used
Seen lines_of_launch(const SourceText& sources, const std::string& file, int line,
                     bool of_memory = false);

/// "(3, 1, 1)".
std::string index_text(const std::array<unsigned, 3>& index);

/// "grid (3, 1, 1), blocks of (16, 16, 1) threads".
std::string launch_text(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block);

}  // namespace convlab
