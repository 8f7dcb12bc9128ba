#include <atomic>
#include <stdexcept>
#include <vector>

#include "common/base/in_threads.hpp"
#include "common/base/tests/support/catch.hpp"

TEST_CASE("in threads: each index once, whatever the number of threads") {
  for (const std::size_t threads : {0U, 1U, 3U, 100U}) {
    std::vector<std::atomic<int>> calls(20);
    convlab::in_threads(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& each : calls) CHECK(each == 1);
  }
  convlab::in_threads(0, 4, [](std::size_t) { FAIL("there is nothing to call"); });
}

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
