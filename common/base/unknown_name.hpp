#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convlab {

/// The name in `known` that was probably meant: the same but for capitals, '_' and '-'; one that
/// few typing errors separate; or the only one that begins with `name` or with which it begins.
/// Empty if there is none.
std::string name_meant(std::string_view name, const std::vector<std::string>& known);

/// "There is no milestone 'M1'. Did you mean m1?", or, if no name is near, "There is no milestone
/// 'm7'; the milestones are: m1, m2."
/// @param kind   what is named, such as "milestone"; with an s it is the plural
/// @param where  follows the name, such as " in m4"
std::string unknown_name(const std::string& kind, const std::string& name,
                         const std::vector<std::string>& known, const std::string& where = "");

}  // namespace convlab
