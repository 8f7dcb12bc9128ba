#include "common/base/tests/support/catch.hpp"
