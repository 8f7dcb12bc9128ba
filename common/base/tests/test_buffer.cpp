#include <cstdint>

#include "common/base/buffer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"

using convlab::Buffer;

TEST_CASE("buffer: small and huge ones are aligned and filled to the last element") {
  for (std::int64_t size : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{20'000'001}}) {
    const Buffer buffer(size, 2.5f);
    CHECK(buffer.size() == size);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    CHECK(buffer[0] == 2.5f);
    CHECK(buffer[size - 1] == 2.5f);
  }
}

TEST_CASE("buffer: more than the machine has is refused with the amount") {
  CHECK(convlab::testing::message_of([] {
          const Buffer buffer(std::int64_t{1} << 45);
        }).find("This run needs 140737.49 GB more memory") == 0);
}
