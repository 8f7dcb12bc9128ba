#pragma once

// Asynchronous copies into shared memory (cp.async), done as late as the interface allows: when the
// thread waits for them. A program that forgets to wait reads the old values.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"

namespace convlab::emulation {

struct AsyncCopy {
  void* to;
  const void* from;
  std::size_t bytes;
  std::size_t zeros;  ///< bytes behind them that become 0
  CallSite site;

  void begin() const { observe_copy(to, from, bytes, site); }
  void run() const {
    std::memcpy(to, from, bytes);
    std::memset(static_cast<unsigned char*>(to) + bytes, 0, zeros);
  }
};
using AsyncCopies = std::vector<AsyncCopy>;

/// The part of a group's copy of `bytes` bytes that one of its `count` members makes, in pieces of
/// 16 bytes.
struct CopyShare {
  std::size_t begin;
  std::size_t bytes;
};
inline CopyShare share_of(std::size_t bytes, std::size_t rank, std::size_t count) {
  constexpr std::size_t kPiece = 16;
  const std::size_t pieces = (bytes + kPiece - 1) / kPiece;
  const std::size_t share = (pieces + count - 1) / count * kPiece;
  const std::size_t begin = std::min(bytes, share * rank);
  return {begin, std::min(bytes - begin, share)};
}

/// The copies that one thread has begun. They are gathered into batches by commit().
class AsyncCopyQueue {
 public:
  /// @param zeros  bytes at the end of the destination that become 0 instead
  void add(void* to, const void* from, std::size_t bytes, std::size_t zeros, CallSite site) {
    open_.push_back({to, from, bytes - zeros, zeros, site});
    open_.back().begin();
  }

  void commit() {
    batches_.push_back(std::move(open_));
    open_.clear();
  }

  /// Does all committed batches but the last `unfinished`.
  void wait_prior(std::size_t unfinished) {
    while (batches_.size() > unfinished) {
      for (const AsyncCopy& copy : batches_.front()) {
        copy.run();
        observe_copied(copy.to, copy.bytes + copy.zeros, copy.site);
      }
      batches_.pop_front();
    }
  }

  void drop_all() {
    open_.clear();
    batches_.clear();
  }

 private:
  AsyncCopies open_;
  std::deque<AsyncCopies> batches_;
};

/// The queue of the calling thread. Copies that a block has not waited for are dropped at its end,
/// with the shared memory that they would fill.
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

/// Copies of the running block that must be done when an object in its shared memory changes: when
/// a barrier opens, or a stage of a pipeline is complete.
class BoundCopies {
 public:
  /// Adds copies to those of (object, stage).
  void add(const void* object, std::uint64_t stage, const AsyncCopy& copy) {
    refresh();
    due_[{object, stage}].push_back(copy);
    copy.begin();
  }
  /// Does them.
  void run(const void* object, std::uint64_t stage) {
    refresh();
    const auto copies = due_.extract({object, stage});
    if (copies.empty()) return;
    for (const AsyncCopy& copy : copies.mapped()) copy.run();
  }

 private:
  void refresh() {
    if (block_ == current_block_number) return;
    block_ = current_block_number;
    due_.clear();
  }

  std::uint64_t block_ = 0;
  std::map<std::pair<const void*, std::uint64_t>, AsyncCopies> due_;
};

inline BoundCopies& bound_copies() {
  static thread_local BoundCopies copies;
  return copies;
}

}  // namespace convlab::emulation
