#pragma once

#include <map>
#include <string>

namespace convlab {

/// The stages that this program has not and others of the same sources have, with the reasons that
/// StageLeftOut gave. An emulated program names here what has no emulated form.
std::map<std::string, std::string> stages_left_out();

}  // namespace convlab
