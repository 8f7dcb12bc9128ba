#pragma once

#include <string>

namespace convlab {

/// A measured number with three digits, as a person would write it: 0.00123, 1.23, 123, 12345.
/// What is below a millionth has fewer; zero is "0".
std::string three_digits(double value);

/// A spread beside a measured number: with as many decimals as three_digits(value) has, and more
/// where all of them were zero. "0.0004" beside 0.0123; "0" only where there is none.
std::string spread_digits(double value, double spread);

}  // namespace convlab
