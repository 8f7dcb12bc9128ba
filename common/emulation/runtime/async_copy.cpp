#include "common/emulation/include/convlab_emulation/async_copy.hpp"

#include <cstring>

namespace convlab::emulation {
namespace {

void begin(const AsyncCopy& copy) {
  observe_copy(copy.to, copy.from, copy.bytes, copy.site);
}

void finish(const AsyncCopy& copy) {
  std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(static_cast<unsigned char*>(copy.to) + copy.bytes, 0, copy.zeros);
}

}  // namespace

void AsyncCopyQueue::add(void* to, const void* from, std::size_t bytes, std::size_t zeros,
                         CallSite site) {
  open_.push_back({to, from, bytes - zeros, zeros, site});
  begin(open_.back());
}

void AsyncCopyQueue::commit() {
  batches_.push_back(std::move(open_));
  open_.clear();
}

void AsyncCopyQueue::wait_prior(std::size_t unfinished) {
  while (batches_.size() > unfinished) {
    for (const AsyncCopy& copy : batches_.front()) {
      finish(copy);
      observe_copied(copy.to, copy.bytes + copy.zeros, copy.site);
    }
    batches_.pop_front();
  }
}

void AsyncCopyQueue::drop_all() {
  open_.clear();
  batches_.clear();
}

AsyncCopyQueue& async_copies() {
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

void BoundCopies::add(const void* object, std::uint64_t stage, const AsyncCopy& copy) {
  refresh();
  due_[{object, stage}].push_back(copy);
  begin(copy);
}

void BoundCopies::run(const void* object, std::uint64_t stage) {
  refresh();
  const auto copies = due_.extract({object, stage});
  if (copies.empty()) return;
  for (const AsyncCopy& copy : copies.mapped()) finish(copy);
}

void BoundCopies::refresh() {
  if (block_ == current_block_number) return;
  block_ = current_block_number;
  due_.clear();
}

BoundCopies& bound_copies() {
  static thread_local BoundCopies copies;
  return copies;
}

}  // namespace convlab::emulation
