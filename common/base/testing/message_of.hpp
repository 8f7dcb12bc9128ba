#pragma once

#include <string>

#include "common/base/error.hpp"

namespace convlab::testing {

/// What the Error thrown by `action` says; empty if it throws none.
template <typename Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace convlab::testing
