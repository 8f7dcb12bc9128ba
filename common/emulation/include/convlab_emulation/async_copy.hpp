#pragma once

// Asynchronous copies into shared memory (cp.async, __pipeline_memcpy_async), done as late as the
// interface allows: when the thread waits for them. A program that forgets to wait reads the old
// values.

#include <algorithm>
#include <cstddef>
#include <deque>
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
};
using AsyncCopies = std::vector<AsyncCopy>;

/// The part of a group's copy of `bytes` bytes that the calling member makes, in pieces of 16
/// bytes.
template <class Group>
AsyncCopy member_copy(const Group& group, void* to, const void* from, std::size_t bytes,
                      CallSite site) {
  constexpr std::size_t kPiece = 16;
  const std::size_t pieces = (bytes + kPiece - 1) / kPiece;
  const std::size_t share = (pieces + group.size() - 1) / group.size() * kPiece;
  const std::size_t begin = std::min<std::size_t>(bytes, share * group.thread_rank());
  return {static_cast<unsigned char*>(to) + begin, static_cast<const unsigned char*>(from) + begin,
          std::min(bytes - begin, share), 0, site};
}

// What these keep belongs to the runtime: a kernel does not write to memory of the host.

/// The copies that one thread has begun. They are gathered into batches by commit().
class AsyncCopyQueue {
 public:
  void add(const AsyncCopy& copy);
  void commit();
  /// Does all committed batches but the last `unfinished`.
  void wait_prior(std::size_t unfinished);
  void drop_all();

 private:
  AsyncCopies open_;
  std::deque<AsyncCopies> batches_;
};

/// Begins the calling thread's copy of 4, 8 or 16 bytes into shared memory, both ends aligned to
/// that size; any other one fails the kernel. The last `zeros` bytes become 0 instead.
/// @param name  as the student wrote it
void begin_async_copy(const char* name, void* to, const void* from, std::size_t bytes,
                      std::size_t zeros, CallSite site);

/// The queue of the calling thread. Copies that a block has not waited for are dropped at its end,
/// with the shared memory that they would fill.
AsyncCopyQueue& async_copies();

/// Begins a copy that must be done when a barrier in shared memory opens.
void bind_copy(const void* barrier, const AsyncCopy& copy);
/// Does those of the barrier.
void run_bound_copies(const void* barrier);

}  // namespace convlab::emulation

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

inline void __pipeline_memcpy_async(void* dst_shared, const void* src_global,
                                    std::size_t size_and_align, std::size_t zfill = 0,
                                    CONVLAB_CALL_SITE) {
  convlab::emulation::begin_async_copy("__pipeline_memcpy_async", dst_shared, src_global,
                                       size_and_align, zfill, site);
}

/// Closes the batch of all copies begun since the last commit.
inline void __pipeline_commit() {
  convlab::emulation::async_copies().commit();
}

/// Waits for the calling thread's batches, except the `prior` last ones.
inline void __pipeline_wait_prior(std::size_t prior) {
  convlab::emulation::async_copies().wait_prior(prior);
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
