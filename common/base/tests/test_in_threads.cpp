#include <stdexcept>

#include "common/base/in_threads.hpp"
#include "common/base/tests/support/catch.hpp"

TEST_CASE("in threads: after an exception no call begins, and it is thrown when all have ended") {
  int calls = 0;
  CHECK_THROWS_AS(convlab::in_threads(10, 1,
                                      [&](std::size_t i) {
                                        ++calls;
                                        if (i == 2) throw std::runtime_error("the third");
                                      }),
                  std::runtime_error);
  CHECK(calls == 3);
}
