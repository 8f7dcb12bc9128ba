#pragma once

#include <cstddef>

#include "common/emulation/rewrite/editor.hpp"

namespace convlab::rewrite {

/// An asm statement in device code or in a macro: turned into calls of the emulation where
/// common/emulation/ptx knows its instructions, otherwise into an error of the compiler in its
/// line. @param keyword  asm, __asm or __asm__
void rewrite_assembly(const File& file, std::size_t keyword);

}  // namespace convlab::rewrite
