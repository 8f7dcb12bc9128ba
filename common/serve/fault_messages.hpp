#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/fault_record.hpp"
#include "common/serve/source_text.hpp"

namespace convlab {

/// What a fault means, in the words of the person who wrote the code. The programs print them and
/// the grader makes a finding of them.
struct FaultMessage {
  std::string id{};     ///< of the finding: "E-outside"
  std::string seen{};   ///< what happened and where: sentences, and quoted lines of the source
  std::string cause{};  ///< what it means here; empty: what the finding usually means
  std::string next{};   ///< one step that mends it; empty: the usual one
};

/// Takes what a variant of findings.txt says, and the id before its slash.
/// @param values  for {0}, {1}, …
void say(FaultMessage& message, const std::string& variant,
         const std::vector<std::string>& values = {});

/// Finds the words for a fault of which a device or the program left a record. Without an id for a
/// fault that only a signal tells (FaultKind::kSignal).
/// @param shape  of the convolution that ran, to say which row of which array was touched
FaultMessage message_of(const FaultRecord& fault, const std::optional<ConvShape>& shape,
                        const SourceText& sources);

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

// Parts of message_of().

/// The words for a race: both lines, both threads, what lies between, the mend.
/// @param fault  of FaultKind::kRace
FaultMessage race_message(const FaultRecord& fault, const SourceText& sources);

/// The message for an exception of CONVLAB_CUDA_CHECK; leaves those of any other exception as they
/// are.
void explain_checked_call(const FaultRecord& fault, const SourceText& sources,
                          FaultMessage& message);

/// Says which of the usual mistakes made a copy or a free fail, where the fault's text tells.
void explain_copy(const FaultRecord& fault, const SourceText& sources, FaultMessage& message);

/// For an exception of threads that the file starts itself.
void explain_threads(const FaultRecord& fault, const SourceText& sources, FaultMessage& message);

/// Whether the launch says kernel<<<block, grid>>>.
bool has_sizes_exchanged(const FaultRecord& fault, const SourceText& sources);

/// Names the copies that may take more bytes than the host's array has.
/// @param fault  of FaultKind::kOutside, without a line
void explain_long_copy(const FaultRecord& fault, const SourceText& sources, FaultMessage& message);

}  // namespace convlab
