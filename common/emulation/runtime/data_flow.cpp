#include "common/emulation/runtime/data_flow.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/symbol_table.hpp"
#include "common/testing/address_sanitizer.hpp"

namespace convlab::emulation {
namespace {

std::atomic<bool> is_recording = false;

/// Memory that both sides reach, and a number that is the same in each run of the program.
struct Piece {
  std::uint64_t number = 0;
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

std::vector<Piece> all_pieces() {
  constexpr std::uint64_t kOthers = 1U << 16;  // no test makes so many allocations
  std::vector<Piece> pieces;
  for (const Allocation& allocation : device_memory().live()) {
    pieces.push_back({allocation.number % kOthers, allocation.begin, allocation.bytes});
  }
  std::uint64_t number = kOthers;
  for (const Symbol& symbol : all_symbols()) {
    pieces.push_back({number++, symbol.address, symbol.bytes});
  }
  for (const auto& [begin, bytes] : pinned_ranges()) pieces.push_back({number++, begin, bytes});
  return pieces;
}

enum class Writer { kHost, kKernel, kNobody };

/// Compares memory before and after each kernel.
class Recorder {
 public:
  void start() {
    *this = {};
    is_recording.store(true);
  }

  std::vector<FlowWord> stop() {
    is_recording.store(false);
    {
      const DeviceAccess access;
      note(Writer::kHost);  // what the host has put beside or in place of the last kernel's output
    }
    std::vector<FlowWord> words;
    if (is_complete_) words = std::move(words_);
    if (examined_ > kMostBytes) words = {{UINT64_MAX, 1, 2}};
    *this = {};
    return words;
  }

  void begin_kernel(const KernelCall& call) {
    note(Writer::kHost);
    ++launches_;
    note_bytes(kConfiguration, &call.grid, sizeof call.grid);
    note_bytes(kConfiguration + 1, &call.block, sizeof call.block);
    note_arguments(call);
  }

  void end_kernel() { note(Writer::kKernel); }
  void begin_copy() { note(Writer::kHost); }
  void end_copy() { note(Writer::kNobody); }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 30;
  static constexpr std::size_t kChunk = 4096;
  static constexpr std::uint64_t kConfiguration = (1U << 18) - 4;
  static constexpr std::uint64_t kArguments = kConfiguration + 2;

  // Memory that nobody has written holds poison, and is not kept.
  void note(Writer writer) {
    std::array<std::uint32_t, kChunk> now;
    for (const Piece& piece : all_pieces()) {
      examined_ += piece.bytes;
      if (examined_ > kMostBytes) return;
      std::vector<std::uint32_t>& known = known_[piece.number];
      const std::size_t size = piece.bytes / sizeof(std::uint32_t);
      for (std::size_t begin = 0; begin < size; begin += kChunk) {
        const std::size_t count = std::min(kChunk, size - begin);
        std::memcpy(now.data(), piece.begin + begin * sizeof(std::uint32_t),
                    count * sizeof(std::uint32_t));
        const std::uint32_t* const before =
            begin < known.size() ? known.data() + begin : poison_.data();
        if (std::memcmp(now.data(), before, count * sizeof(std::uint32_t)) == 0) continue;
        known.resize(std::max(known.size(), begin + count), UINT32_MAX);
        for (std::size_t k = 0; k < count; ++k) {
          if (now[k] != known[begin + k]) add(piece.number, begin + k, now[k], writer);
          known[begin + k] = now[k];
        }
      }
    }
  }

  void note_bytes(std::uint64_t number, const void* bytes, std::size_t count) {
    std::vector<std::uint32_t> words(count / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes, words.size() * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < words.size(); ++i) add(number, i, words[i], Writer::kHost);
  }

  // Up to 4 KiB may be given so. SharedObject does not tell its size, but the heap does.
  void note_arguments([[maybe_unused]] const KernelCall& call) {
#if !CONVLAB_ADDRESS_SANITIZER
    constexpr std::size_t kBefore = 2 * sizeof(void*);  // a count and a function
    constexpr std::size_t kMost = 8192;
    const auto* object = static_cast<const std::byte*>(call.arguments.get());
    if (object == nullptr) return;
    const std::size_t block = ::malloc_usable_size(const_cast<std::byte*>(object) - kBefore);
    if (block <= kBefore || block > kMost) return;
    note_bytes(kArguments, object, block - kBefore);
#endif
  }

  void add(std::uint64_t number, std::size_t index, std::uint32_t value, Writer writer) {
    const bool by_kernel = writer == Writer::kKernel;
    if (writer == Writer::kNobody || (by_kernel && index % kKernelWordsPerNoted != 0)) return;
    constexpr unsigned kLaunchAt = 50;
    constexpr unsigned kNumberAt = 32;
    // A zero tells nothing, and who clears memory clears much.
    if (value == 0 || !is_complete_) return;
    if (by_kernel && by_kernels_ >= kMostFlowWords / 4) return;
    by_kernels_ += by_kernel ? 1 : 0;
    is_complete_ = by_kernel || words_.size() - by_kernels_ < kMostFlowWords / 4 * 3;
    if (!is_complete_) return;
    words_.push_back(
        {launches_ << kLaunchAt | number << kNumberAt | index, value, by_kernel ? 1U : 0U});
  }

  std::map<std::uint64_t, std::vector<std::uint32_t>> known_{};
  std::vector<FlowWord> words_{};
  std::size_t by_kernels_ = 0;
  std::uint64_t launches_ = 0;
  std::size_t examined_ = 0;
  std::vector<std::uint32_t> poison_ = std::vector<std::uint32_t>(kChunk, UINT32_MAX);
  bool is_complete_ = true;
};

std::mutex recorder_mutex;

}  // namespace

void record_words() {
  const std::lock_guard lock(recorder_mutex);
  only<Recorder>().start();
}

std::vector<FlowWord> take_words() {
  const std::lock_guard lock(recorder_mutex);
  return only<Recorder>().stop();
}

NotedKernel::NotedKernel(const KernelCall& call) {
  if (!is_recording.load()) return;
  lock_ = std::unique_lock(recorder_mutex);
  only<Recorder>().begin_kernel(call);
}

NotedKernel::~NotedKernel() {
  if (lock_) only<Recorder>().end_kernel();
}

NotedCopy::NotedCopy() {
  if (!is_recording.load()) return;
  access_.emplace();
  lock_ = std::unique_lock(recorder_mutex);
  only<Recorder>().begin_copy();
}

NotedCopy::~NotedCopy() {
  if (lock_) only<Recorder>().end_copy();
}

}  // namespace convlab::emulation
