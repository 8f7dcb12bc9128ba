#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/copy.hpp"

namespace convlab::emulation {

// Withholding (activity.hpp): device memory holds the true words, everything that the host can read
// holds tokens. Variables of the device lie in the program's own memory: they hold tokens while no
// kernel runs.

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

/// Whether numbers are withheld now.
bool is_withholding();

/// For one kernel: its arguments, the variables of the device, and memory that host and device
/// share. All of it holds true words while the kernel runs. One lives at a time, or one would take
/// words for tokens. Does nothing if nothing is withheld.
class TrueWords {
 public:
  explicit TrueWords(const KernelCall& call);

  /// Replaces tokens by words, where the kernel runs. Device memory must be accessible.
  void reveal();
  /// For a copy that stays: the arguments, and what the host may have changed without a copy, with
  /// words in place of tokens.
  /// @param shared  room for bytes()
  void reveal_to(std::byte* arguments, std::byte* shared);
  /// In that copy: what reveal_to() has left of the latter.
  void take_over(const std::byte* shared) const;
  /// Of all that the kernel may change, when it has ended.
  [[nodiscard]] std::size_t bytes() const;
  void hand_over(std::byte* to) const;
  /// Makes what changed tokens again, for the host.
  /// @param words  what hand_over() has left; null: they lie where the kernel changed them
  void settle(const std::byte* words);

 private:
  enum class Kind { kArguments, kSymbol, kShared };
  struct Piece {
    std::byte* begin = nullptr;
    std::size_t words = 0;
    Kind kind = Kind::kShared;
    bool read_only = false;                 ///< for the host
    std::vector<std::uint32_t> host{};      ///< what it held for the host when it was revealed
    std::vector<std::uint32_t> revealed{};  ///< to a copy that stays
  };
  void add(const void* begin, std::size_t bytes, Kind kind);
  static void settle(Piece& piece, std::vector<std::uint32_t>& now);

  std::unique_lock<std::mutex> lock_;
  std::vector<Piece> pieces_;
};

}  // namespace convlab::emulation
