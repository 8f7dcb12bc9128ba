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

/// What a fault means, in the words of the person who wrote the code. The programs print them and
/// the grader makes a finding of them. `seen` is what happened and where: sentences, and quoted
/// lines of the source. An empty `cause` or `next` is the finding's usual one.
using FaultMessage = Diagnosis;

/// Takes what a variant of findings.txt says, and the id before its slash.
/// @param values  for {0}, {1}, …
void say(FaultMessage& message, const std::string& variant,
         const std::vector<std::string>& values = {});

/// Finds the words for a fault of which a device or the program left a record. Without an id for a
/// fault that only a signal tells (FaultKind::kSignal).
/// @param shape  of the convolution that ran, to say which row of which array was touched
FaultMessage message_of(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                        const SourceText& sources);

/// The part of message_of for a race: both lines, both threads, what lies between, the mend.
/// @param fault  of FaultKind::kRace
FaultMessage race_message(const FaultRecord& fault, const SourceText& sources);

/// An array of the convolution that has so many elements: "input", "weights" or "output"; empty
/// for another number, or where several have as many.
/// @param name  what the student calls it, which decides between arrays of one size
std::string array_of_size(const ConvShape& shape, long long elements, const std::string& name);

/// "`tile`[3][17]", "element 12 of `input`": a place in a piece of memory, as the student wrote it.
std::string place_text(const FaultMemory& memory, const std::string& kernel,
                       const SourceText& sources);

/// "(3, 1, 1)".
std::string index_text(const std::array<unsigned, 3>& index);

/// "grid (3, 1, 1), blocks of (16, 16, 1) threads".
std::string launch_text(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block);

}  // namespace convlab
