#pragma once

// Asynchronous copies into shared memory (cp.async), done as late as the interface allows: when the
// thread waits for them. Whoever forgets to wait reads what was there before.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"

namespace convlab::emulation {

/// The copies that one thread has begun. They are gathered into batches by commit().
class AsyncCopyQueue {
 public:
  /// @param zeros  bytes at the end of the destination that become 0 instead
  void add(void* to, const void* from, std::size_t bytes, std::size_t zeros) {
    open_.push_back({to, from, bytes - zeros, zeros});
  }

  void commit() {
    batches_.push_back(std::move(open_));
    open_.clear();
  }

  /// Does all committed batches but the last `unfinished`.
  void wait_prior(std::size_t unfinished) {
    while (batches_.size() > unfinished) {
      for (const Copy& copy : batches_.front()) {
        std::memcpy(copy.to, copy.from, copy.bytes);
        std::memset(static_cast<unsigned char*>(copy.to) + copy.bytes, 0, copy.zeros);
      }
      batches_.pop_front();
    }
  }

  void drop_all() {
    open_.clear();
    batches_.clear();
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    std::size_t zeros;
  };

  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> batches_;
};

/// The queue of the calling thread of the running block. What a block leaves behind is dropped: its
/// destination, the shared memory, is gone as well.
inline AsyncCopyQueue& async_copies() {
  struct BlockCopies {
    std::uint64_t block = 0;
    std::vector<AsyncCopyQueue> queues;
  };
  static thread_local BlockCopies copies;
  if (copies.block != current_block_number) {
    copies.block = current_block_number;
    for (AsyncCopyQueue& queue : copies.queues) queue.drop_all();
  }
  const auto rank = static_cast<std::size_t>(thread_rank());
  if (copies.queues.size() <= rank) copies.queues.resize(rank + 1);
  return copies.queues[rank];
}

}  // namespace convlab::emulation
