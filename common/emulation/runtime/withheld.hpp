#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/copy.hpp"

namespace convlab::emulation {

// Withholding (activity.hpp): device memory holds the true words, everything that the host can read
// holds tokens. Variables of the device and what kernels allocate lie in the program's own memory,
// where a library or the system reads for the host: they hold tokens while no kernel runs. What
// kernels leave on their stacks and in shared memory is forgotten (forgets_words).

/// What a copy makes of the words that it moves.
enum class Crossing {
  kNone,    ///< nothing: nothing is withheld, or both places hold the same kind
  kWords,   ///< true words of tokens
  kTokens,  ///< new tokens of true words
};

/// A flag, a counter or a maximum reaches the host as it is: up to 64 words in pieces of at most 16
/// in a call of a stage.
Crossing withheld_crossing(const Copy& copy);

/// Copies 32-bit words, of which the last may be shorter.
void move_across(Crossing crossing, std::byte* to, const std::byte* from, std::size_t bytes);

/// Whether device memory must be closed after each use, at whatever cost.
bool is_withholding();

/// Whether kernels must leave no number on their stacks and in shared memory: where a program is
/// observed, this is all that it could tell the host.
bool forgets_words();

/// The calling thread runs kernels; it is none of the host's.
void note_worker();

/// While it lives, a kernel runs: its arguments, the variables of the device, and memory that host
/// and device share hold true words. Does nothing if nothing is withheld.
class TrueWords {
 public:
  /// Device memory must be accessible.
  explicit TrueWords(const KernelCall& call);
  TrueWords(const TrueWords&) = delete;
  TrueWords& operator=(const TrueWords&) = delete;
  ~TrueWords();

 private:
  enum class Kind { kArguments, kSymbol, kHeap, kShared };
  struct Piece {
    std::byte* begin = nullptr;
    Kind kind = Kind::kShared;
    bool read_only = false;             ///< for the host
    std::vector<std::uint32_t> host{};  ///< what it holds for the host
  };
  void add(const void* begin, std::size_t bytes, Kind kind);
  void follow_heap();

  std::unique_lock<std::mutex> lock_;  ///< one at a time, or one would take words for tokens
  std::vector<Piece> pieces_;
};

}  // namespace convlab::emulation
