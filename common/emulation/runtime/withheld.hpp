#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/pages.hpp"

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
/// share. All of it holds true words while the kernel runs. Does nothing if nothing is withheld.
class TrueWords {
 public:
  /// One kernel runs while it lives, or another would take words for tokens.
  [[nodiscard]] static std::unique_lock<std::mutex> alone();

  TrueWords() = default;
  explicit TrueWords(const KernelCall& call);

  /// Replaces tokens by words, where the kernel runs. Device memory must be accessible.
  void reveal();
  /// Makes what changed tokens again, for the host, where the kernel ran.
  void settle();

  // Where the kernel runs in a copy, words go to and fro in a room that the host cannot open. A
  // program may launch thousands of small kernels beside large pinned arrays: only pages that
  // changed since the last launch are written there.

  /// Of that room.
  [[nodiscard]] std::size_t bytes() const { return round_up(pages_, kPage) + pages_ * kPage; }
  /// Before the copy is made: what the host has.
  void remember();
  /// For a copy that stays: the arguments, and what the host has changed without a copy, with words
  /// in place of tokens.
  /// @param last  that of the last launch, which had the same memory
  void reveal_to(std::byte* arguments, std::byte* room, TrueWords&& last);
  /// In the copy, before a later launch: what reveal_to() has left.
  void take_over(std::byte* room);
  /// In the copy, when a kernel has ended: what it has changed.
  void hand_over(std::byte* room);
  /// Of that, tokens, for the host.
  void settle(std::byte* room);

 private:
  enum class Kind { kArguments, kSymbol, kShared };
  struct Piece {
    std::byte* begin = nullptr;
    std::size_t words = 0;
    Kind kind = Kind::kShared;
    bool read_only = false;               ///< for the host
    std::size_t page = 0;                 ///< its first one in the room
    std::vector<std::uint32_t> host{};    ///< what it holds for the host
    std::vector<std::uint32_t> kernel{};  ///< in the copy: what it holds between kernels
  };
  void add(const void* begin, std::size_t bytes, Kind kind);
  template <typename Visit>
  void for_each_page(Piece& piece, std::byte* room, const Visit& visit) const;
  static void settle(Piece& piece, std::vector<std::uint32_t>& now);

  std::vector<Piece> pieces_;
  std::size_t pages_ = 0;
};

}  // namespace convlab::emulation
