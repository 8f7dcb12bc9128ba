#pragma once

#include <cstdint>
#include <string>

namespace convlab::grader {

/// "1 234 567": groups of three, as the chapters write large numbers, with no-break spaces.
std::string grouped(std::int64_t number);

/// "5", "5.2": at most one digit behind the point.
std::string short_number(double number);

}  // namespace convlab::grader
