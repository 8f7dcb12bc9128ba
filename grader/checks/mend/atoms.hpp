#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::grader::mend {

/// Whether it is a word of a type: "const", "float", "size_t".
bool is_type(std::string_view text);

/// A number, or a name with its members, "shape.out_height()".
struct Atom {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_array = false;
  bool is_number = false;
};

/// The names and numbers of tokens [begin, end) that stand for values and arrays.
std::vector<Atom> atoms_in(const rewrite::Source& source, std::size_t begin, std::size_t end);

/// The pointers, those to constants and the sizes of grids that a file declares, each with its
/// type.
std::map<std::string, std::string> types_in(const rewrite::Source& source);

/// kernel<7><<<…>>>: behind what stands between the angles at token i, or i if there is no such.
std::size_t behind_arguments_of_kernel(const rewrite::Source& source, std::size_t i,
                                       std::size_t end);

/// Whether the address of what begins at token i is taken: f(&i).
bool takes_address(const rewrite::Source& source, std::size_t i);

/// The type that types_in() gives a pointer to constants.
inline const std::string kConstantPointer = "pointer to constants";

}  // namespace convlab::grader::mend
