#pragma once

#include <exception>
#include <string>

namespace convlab::testing {

/// What the exception thrown by `action` says; empty if it throws none.
template <typename Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace convlab::testing
