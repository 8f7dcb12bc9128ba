#pragma once

#include <cstddef>

#include "common/emulation/rewrite/editor.hpp"

namespace convlab::rewrite {

/// kernel<<<blocks, threads>>>(arguments). @param open  the first <
void rewrite_launch(const File& file, std::size_t open);

/// kernel CONFIGURATION(blocks, threads)(arguments), if token `name` is a macro that holds <<<…>>>.
void rewrite_launch_by_macro(const File& file, std::size_t name);

/// (void*)kernel and reinterpret_cast<void*>(kernel), also with const: what the kernel takes is
/// noted where its name still stands there. @param keyword  the void
void rewrite_untyped_kernel(const File& file, std::size_t keyword);

}  // namespace convlab::rewrite
