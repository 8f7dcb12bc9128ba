#include "common/emulation/runtime/withheld.hpp"

#include <string.h>  // explicit_bzero
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/variable_pages.hpp"

namespace convlab::emulation {
namespace {

std::atomic<bool> withholding = false;
thread_local int workbook_depth = 0;

constexpr std::size_t kTokenBytes = sizeof(std::uint32_t);

// A token is a float from 2 to 2^33 of either sign:
//
//     sign | 100 | 28 bits, of which the last 8 are not all 0
//
// Random numbers of the grader lie below 2, also as halves in pairs; whole numbers, sizes and
// indices have other bits, and pointers are looked at (is_pointer). So a word of the program is a
// token only by a chance of one in 2^29 for each token.
constexpr unsigned kBits = 29;
constexpr std::uint32_t kCount = 1U << kBits;
constexpr std::uint32_t kSign = 0x8000'0000U;
constexpr std::uint32_t kHead = 0x4000'0000U;
constexpr std::uint32_t kTail = 0x0fff'ffffU;

bool may_be_token(std::uint32_t word) {
  return (word & 0x7000'0000U) == kHead && (word & 0xffU) != 0;
}

// The low half of a pointer may look like any token. The host gains nothing by a token that looks
// like one: a kernel then gets the token.
bool is_pointer(std::uint32_t low, std::uint32_t high) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is only compared
  const void* const address = reinterpret_cast<const void*>(std::uintptr_t{high} << 32U | low);
  return device_memory().contains(address) || is_static_storage(address);
}

/// The true words of all tokens, in the order in which these were made. Its pages are accessible
/// only while an Open lives.
class TokenTable {
 public:
  TokenTable() {
    void* const pages = reserve(kWithheldEnd - kBytes, kBytes);
    if (pages == MAP_FAILED) {
      throw EnvironmentError(
          "The machine has no addresses left for withheld numbers (ulimit -v?).");
    }
    words_ = static_cast<std::uint32_t*>(pages);
  }

  class Open {
   public:
    /// @param more  how many tokens will be made at most
    Open(TokenTable& table, std::size_t more) : table_(table), lock_(table.mutex_) {
      const std::size_t most = std::min<std::size_t>(table.count_ + 2 * more + kSlack, kCount);
      bytes_ = round_up(most * kTokenBytes, kPage);
      if (!protect(table.words_, bytes_, PROT_READ | PROT_WRITE))
        throw EnvironmentError("The machine has no memory left for withheld numbers.");
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { protect(table_.words_, bytes_, PROT_NONE); }

    /// A new token, also of what is no number: whether a word is one would tell a bit of another.
    std::uint32_t token(std::uint32_t word) {
      std::uint32_t found = 0;
      do {
        if (table_.count_ == kCount) throw EnvironmentError("Too many numbers are withheld.");
        found = table_.mixed(table_.count_);
        table_.words_[table_.count_++] = word;
      } while (!may_be_token(found));
      return found;
    }

    /// The true word of a token; any other word as it is.
    /// @param next  the word behind it, with which it may be a pointer; 0 if there is none
    [[nodiscard]] std::uint32_t word(std::uint32_t token, std::uint32_t next = 0) const {
      if (!may_be_token(token) || is_pointer(token, next)) return token;
      const std::uint32_t index = table_.unmixed(token);
      return index < table_.count_ ? table_.words_[index] : token;
    }

    bool passes_plain(std::size_t words) {
      constexpr std::size_t kPiece = 16;
      constexpr std::size_t kAll = 64;
      if (words > kPiece || table_.plain_words_ + words > kAll) return false;
      table_.plain_words_ += words;
      return true;
    }

   private:
    static constexpr std::size_t kSlack = 1024;
    TokenTable& table_;
    std::lock_guard<std::mutex> lock_;
    std::size_t bytes_ = 0;
  };

  /// Forgets all tokens. The same key draws the same ones in the same order.
  void clear(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    madvise(words_, kBytes, MADV_DONTNEED);
    key_ = static_cast<std::uint32_t>(key % kCount);
    count_ = 0;
    plain_words_ = 0;
    arrays_.clear();
  }

  /// What the host cannot write.
  void add_array(const void* begin, std::size_t bytes) {
    const auto* byte = static_cast<const std::byte*>(begin);
    arrays_.emplace_back(byte, byte + bytes);
  }
  [[nodiscard]] bool is_array(const std::byte* begin, std::size_t bytes) const {
    return std::ranges::any_of(arrays_, [&](const auto& array) {
      return begin < array.second && array.first < begin + bytes;
    });
  }

 private:
  // A bijection of 29 bits whose inverse is known. Who knows the index of a token knows no word.
  static constexpr std::uint32_t kFactor = 0x0b5a'4ebdU;
  static constexpr std::uint32_t kInverse = [] {
    std::uint32_t inverse = kFactor;  // each step doubles the number of right bits
    for (int i = 0; i < 5; ++i) inverse *= 2 - kFactor * inverse;
    return inverse;
  }();
  static std::uint32_t folded(std::uint32_t bits) { return bits ^ bits >> (kBits / 2 + 1); }
  [[nodiscard]] std::uint32_t mixed(std::uint32_t index) const {
    const std::uint32_t bits = folded(folded((index ^ key_) * kFactor % kCount) * kFactor % kCount);
    return (bits & kTail) | kHead | (bits & ~kTail) << 3U;
  }
  [[nodiscard]] std::uint32_t unmixed(std::uint32_t token) const {
    const std::uint32_t bits = (token & kTail) | (token & kSign) >> 3U;
    return folded(folded(bits) * kInverse % kCount) * kInverse % kCount ^ key_;
  }

  static constexpr std::size_t kBytes = std::size_t{kCount} * kTokenBytes;

  std::mutex mutex_;
  std::uint32_t* words_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t key_ = 0;
  std::size_t plain_words_ = 0;
  std::vector<std::pair<const std::byte*, const std::byte*>> arrays_;
};

void set_writable(std::byte* begin, std::size_t bytes, bool writable) {
  std::byte* const page = begin - reinterpret_cast<std::uintptr_t>(begin) % kPage;
  mprotect(page, static_cast<std::size_t>(begin + bytes - page),
           writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

// Calls change(word, the next or 0) for each word, of which the last may be shorter.
template <typename Change>
void change_words(std::byte* to, const std::byte* from, std::size_t bytes, const Change& change) {
  for (std::size_t i = 0; i < bytes; i += kTokenBytes) {
    const std::size_t size = std::min(kTokenBytes, bytes - i);
    std::uint32_t word = 0;
    std::uint32_t next = 0;
    std::memcpy(&word, from + i, size);
    if (i + 2 * kTokenBytes <= bytes) std::memcpy(&next, from + i + kTokenBytes, kTokenBytes);
    word = change(word, next);
    std::memcpy(to + i, &word, size);
  }
}

}  // namespace

void withhold_numbers(std::uint64_t key) {
  end_copy();
  device_memory().share();
  only<TokenTable>().clear(key);
  withholding.store(true);
}

void stop_withholding() {
  end_copy();
  withholding.store(false);
}

void make_tokens(const float* numbers, float* tokens, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * kTokenBytes;
  TokenTable::Open open(only<TokenTable>(), static_cast<std::size_t>(count));
  only<TokenTable>().add_array(tokens, bytes);
  change_words(reinterpret_cast<std::byte*>(tokens), reinterpret_cast<const std::byte*>(numbers),
               bytes, [&](std::uint32_t word, std::uint32_t) { return open.token(word); });
}

void reveal_numbers(float* numbers, std::int64_t count) {
  if (!withholding.load()) return;
  const TokenTable::Open open(only<TokenTable>(), 0);
  auto* const begin = reinterpret_cast<std::byte*>(numbers);
  change_words(begin, begin, static_cast<std::size_t>(count) * kTokenBytes,
               [&](std::uint32_t word, std::uint32_t) { return open.word(word); });
}

WorkbookCopies::WorkbookCopies() {
  ++workbook_depth;
}

WorkbookCopies::~WorkbookCopies() {
  --workbook_depth;
}

bool is_withholding() {
  return withholding.load();
}

Crossing withheld_crossing(const Copy& copy) {
  if (!withholding.load()) return Crossing::kNone;
  const auto holds_words = [](const void* address) {
    if (const auto allocation = device_memory().find(address))
      return allocation->kind == MemoryKind::kDevice;
    return workbook_depth > 0 && side_of(address) == Side::kHost;
  };
  const bool from_words = holds_words(copy.from);
  const bool to_words = holds_words(copy.to);
  const auto passes_plain = [&] {
    const std::size_t words = (copy.width * copy.height + kTokenBytes - 1) / kTokenBytes;
    return copy.to_side() != Side::kDevice &&
           TokenTable::Open(only<TokenTable>(), 0).passes_plain(words);
  };
  if (from_words == to_words) {
    const bool from_symbol = !from_words && copy.from_side() == Side::kDevice;
    return from_symbol && passes_plain() ? Crossing::kWords : Crossing::kNone;
  }
  if (to_words) return Crossing::kWords;
  return passes_plain() ? Crossing::kNone : Crossing::kTokens;
}

void move_across(Crossing crossing, std::byte* to, const std::byte* from, std::size_t bytes) {
  TokenTable::Open open(only<TokenTable>(),
                        crossing == Crossing::kTokens ? bytes / kTokenBytes + 1 : 0);
  // A word of a variable of the device is one token, also if only a half of it is copied.
  const std::size_t rest = bytes % kTokenBytes;
  const std::byte* const tokens = crossing == Crossing::kTokens ? to : from;
  const auto symbol = rest == 0 ? std::nullopt : find_symbol(tokens);
  const bool is_part =
      symbol && tokens + bytes - rest + kTokenBytes <= symbol->address + symbol->bytes;
  change_words(to, from, is_part ? bytes - rest : bytes,
               [&](std::uint32_t word, std::uint32_t next) {
                 return crossing == Crossing::kTokens ? open.token(word) : open.word(word, next);
               });
  if (!is_part) return;
  std::uint32_t word = 0;
  std::memcpy(&word, tokens + bytes - rest, kTokenBytes);
  word = open.word(word);
  if (crossing == Crossing::kTokens) {
    std::memcpy(&word, from + bytes - rest, rest);
    word = open.token(word);
    std::memcpy(to + bytes - rest, &word, kTokenBytes);
  } else {
    std::memcpy(to + bytes - rest, &word, rest);
  }
}

TrueWords::TrueWords(const KernelCall& call) {
  if (!withholding.load()) return;
  static std::mutex one_kernel;
  lock_ = std::unique_lock(one_kernel);
  add(call.arguments, call.argument_bytes, Kind::kArguments);
  for (const Symbol& symbol : all_symbols()) {
    const bool shared = symbol.kind == SymbolKind::kManaged;
    add(symbol.address, symbol.bytes, shared ? Kind::kShared : Kind::kSymbol);
  }
  for (const Allocation& allocation : device_memory().live())
    if (allocation.kind != MemoryKind::kDevice)
      add(allocation.begin, allocation.bytes, Kind::kShared);
  // A program may register memory twice, in parts, and a word is revealed once.
  const std::byte* end = nullptr;
  for (const auto& [begin, bytes] : only<PinnedMemory>().all()) {
    const std::byte* const from = std::max(begin, end);
    if (begin + bytes <= from) continue;
    end = begin + bytes;
    add(from, static_cast<std::size_t>(end - from), Kind::kShared);
  }
}

void TrueWords::add(const void* begin, std::size_t bytes, Kind kind) {
  if (bytes < kTokenBytes) return;
  auto* const byte = static_cast<std::byte*>(const_cast<void*>(begin));
  pieces_.push_back({byte, bytes / kTokenBytes, kind, only<TokenTable>().is_array(byte, bytes)});
}

void TrueWords::reveal() {
  if (pieces_.empty()) return;
  const TokenTable::Open open(only<TokenTable>(), 0);
  for (Piece& piece : pieces_) {
    const std::size_t bytes = piece.words * kTokenBytes;
    if (!is_copy()) {
      piece.host.resize(piece.words);
      std::memcpy(piece.host.data(), piece.begin, bytes);
    }
    if (piece.read_only) set_writable(piece.begin, bytes, true);
    change_words(piece.begin, piece.begin, bytes,
                 [&](std::uint32_t word, std::uint32_t next) { return open.word(word, next); });
  }
}

void TrueWords::reveal_to(std::byte* arguments, std::byte* shared) {
  const TokenTable::Open open(only<TokenTable>(), 0);
  const auto reveal = [&](const Piece& piece, std::byte* to) {
    change_words(to, piece.begin, piece.words * kTokenBytes,
                 [&](std::uint32_t word, std::uint32_t next) { return open.word(word, next); });
  };
  for (Piece& piece : pieces_) {
    if (piece.kind == Kind::kArguments) {
      reveal(piece, arguments);
      continue;
    }
    if (piece.kind == Kind::kShared) {
      piece.revealed.resize(piece.words);
      reveal(piece, reinterpret_cast<std::byte*>(piece.revealed.data()));
      std::memcpy(shared, piece.revealed.data(), piece.words * kTokenBytes);
    }
    shared += piece.words * kTokenBytes;
  }
}

void TrueWords::take_over(const std::byte* shared) const {
  for (const Piece& piece : pieces_) {
    if (piece.kind == Kind::kArguments) continue;
    const std::size_t bytes = piece.words * kTokenBytes;
    if (piece.kind == Kind::kShared) std::memcpy(piece.begin, shared, bytes);
    shared += bytes;
  }
}

std::size_t TrueWords::bytes() const {
  std::size_t words = 0;
  for (const Piece& piece : pieces_) words += piece.kind == Kind::kArguments ? 0 : piece.words;
  return words * kTokenBytes;
}

void TrueWords::hand_over(std::byte* to) const {
  for (const Piece& piece : pieces_) {
    if (piece.kind == Kind::kArguments) continue;
    std::memcpy(to, piece.begin, piece.words * kTokenBytes);
    to += piece.words * kTokenBytes;
  }
}

void TrueWords::settle(const std::byte* words) {
  const DeviceRights rights;
  const VariableAccess variables;
  for (Piece& piece : pieces_) {
    if (words != nullptr && piece.kind == Kind::kArguments) continue;
    const std::size_t bytes = piece.words * kTokenBytes;
    const bool is_as_before =
        !piece.revealed.empty() && std::memcmp(piece.revealed.data(), words, bytes) == 0;
    // Freed memory keeps its content, and a stage may allocate it.
    if (!piece.revealed.empty())
      ::explicit_bzero(piece.revealed.data(), piece.revealed.size() * kTokenBytes);
    if (is_as_before) {
      words += bytes;
      continue;
    }
    std::vector<std::uint32_t> now(piece.words);
    std::memcpy(now.data(), words != nullptr ? words : piece.begin, bytes);
    if (words != nullptr) {
      words += bytes;
      piece.host.resize(piece.words);
      std::memcpy(piece.host.data(), piece.begin, bytes);
    }
    settle(piece, now);
    ::explicit_bzero(now.data(), bytes);
  }
}

void TrueWords::settle(Piece& piece, std::vector<std::uint32_t>& now) {
  TokenTable::Open open(only<TokenTable>(), now.size());
  std::vector<bool> plain(now.size());
  bool is_told = true;  // whatever changed
  for (std::size_t begin = 0; begin < now.size() && piece.kind != Kind::kArguments; ++begin) {
    const auto is_new = [&](std::size_t i) {
      const std::uint32_t next = i + 1 < now.size() ? piece.host[i + 1] : 0;
      return now[i] != open.word(piece.host[i], next);
    };
    std::size_t end = begin;
    while (end < now.size() && is_new(end)) ++end;
    if (end == begin) continue;
    if (piece.kind == Kind::kShared && open.passes_plain(end - begin)) {
      std::copy(now.begin() + begin, now.begin() + end, piece.host.begin() + begin);
      std::fill(plain.begin() + begin, plain.begin() + end, true);
    } else {
      is_told = false;
    }
    begin = end;
  }
  // Also what a kernel left as it was: which words it wrote would tell numbers.
  for (std::size_t i = 0; !is_told && i < now.size(); ++i)
    if (!plain[i]) piece.host[i] = open.token(now[i]);
  const std::size_t bytes = now.size() * kTokenBytes;
  if (std::memcmp(piece.begin, piece.host.data(), bytes) != 0) {
    if (piece.read_only) set_writable(piece.begin, bytes, true);
    std::memcpy(piece.begin, piece.host.data(), bytes);
  }
  if (piece.read_only) set_writable(piece.begin, bytes, false);
}

}  // namespace convlab::emulation
