#pragma once

#include <string>

namespace convlab {

/// A measured number with three digits, as a person would write it: 0.00123, 1.23, 123, 12345.
/// Numbers below a millionth have fewer digits; zero is "0".
std::string three_digits(double value);

/// The spread of a measured number, with as many decimals as three_digits(value), or more if all of
/// them would be zero: "0.0004" beside 0.0123. "0" only if the spread is zero.
std::string spread_digits(double value, double spread);

}  // namespace convlab
