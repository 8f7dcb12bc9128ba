#pragma once

#include <map>
#include <string>

namespace convlab {

/// The stages that this program lacks but other programs of the same sources have, with the reasons
/// from StageLeftOut. An emulated program lists here the stages that cannot be emulated.
std::map<std::string, std::string> stages_left_out();

}  // namespace convlab
