#pragma once

#include <array>
#include <cstdint>

namespace convlab {

/// The key that every later keyed_call() tells; zeros before.
const std::array<std::uint32_t, 3>& draw_call_key();

/// A system call of three arguments that in a program with a submission only the workbook may make:
/// it tells the key in the three arguments that the call does not have, and a filter compares
/// (common/emulation/runtime/signals.cpp). Otherwise a file would make it by a function of the C
/// library that it finds by its machine code.
/// @return as syscall(2)
long keyed_call(long number, std::intptr_t first, const void* second, std::intptr_t third);

}  // namespace convlab
