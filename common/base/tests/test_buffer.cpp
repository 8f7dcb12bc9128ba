#include <cstdint>

#include "common/base/buffer.hpp"
#include "common/base/tests/support/catch.hpp"

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
