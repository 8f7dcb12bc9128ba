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

   private:
    static constexpr std::size_t kSlack = 1024;
    TokenTable& table_;
    std::lock_guard<std::mutex> lock_;
    std::size_t bytes_ = 0;
  };

  bool passes_plain(std::size_t words) {
    constexpr std::size_t kPiece = 16;
    constexpr std::size_t kAll = 64;
    if (words > kPiece || plain_words_ + words > kAll) return false;
    plain_words_ += words;
    return true;
  }

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
  std::atomic<std::size_t> plain_words_ = 0;
  std::vector<std::pair<const std::byte*, const std::byte*>> arrays_;
};

constexpr std::size_t kPageWords = kPage / kTokenBytes;

std::vector<std::uint32_t> words_at(const std::byte* begin, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  std::memcpy(words.data(), begin, count * kTokenBytes);
  return words;
}

std::uint32_t next_word(const std::vector<std::uint32_t>& words, std::size_t i) {
  return i + 1 < words.size() ? words[i + 1] : 0;
}

std::vector<std::uint32_t> true_words(const std::vector<std::uint32_t>& tokens) {
  const TokenTable::Open open(only<TokenTable>(), 0);
  std::vector<std::uint32_t> words(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    words[i] = open.word(tokens[i], next_word(tokens, i));
  return words;
}

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
  install_signal_handlers();  // before the host can use what it allocates
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
    const std::size_t words = (copy.bytes() + kTokenBytes - 1) / kTokenBytes;
    return copy.to_side() != Side::kDevice && only<TokenTable>().passes_plain(words);
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

std::unique_lock<std::mutex> TrueWords::alone() {
  static std::mutex one_kernel;
  return withholding.load() ? std::unique_lock(one_kernel) : std::unique_lock<std::mutex>{};
}

TrueWords::TrueWords(const KernelCall& call) {
  if (!withholding.load()) return;
  add(call.arguments, call.argument_bytes, Kind::kArguments);
  for (const Symbol& symbol : all_symbols()) {
    if (symbol.is_read_only) continue;  // no number of a case can be there
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
  pieces_.push_back({.begin = byte,
                     .words = bytes / kTokenBytes,
                     .kind = kind,
                     .read_only = only<TokenTable>().is_array(byte, bytes),
                     .page = pages_});
  if (kind != Kind::kArguments) pages_ += round_up(bytes, kPage) / kPage;
}

void TrueWords::reveal() {
  if (pieces_.empty()) return;
  const TokenTable::Open open(only<TokenTable>(), 0);
  for (Piece& piece : pieces_) {
    const std::size_t bytes = piece.words * kTokenBytes;
    if (!is_copy()) piece.host = words_at(piece.begin, piece.words);
    if (piece.read_only) set_writable(piece.begin, bytes, true);
    change_words(piece.begin, piece.begin, bytes,
                 [&](std::uint32_t word, std::uint32_t next) { return open.word(word, next); });
    if (is_copy()) piece.kernel = words_at(piece.begin, piece.words);
  }
}

void TrueWords::settle() {
  const DeviceRights rights;
  const VariableAccess variables;
  for (Piece& piece : pieces_) {
    std::vector<std::uint32_t> now = words_at(piece.begin, piece.words);
    settle(piece, now);
    // Freed memory keeps its content, and a stage may allocate it.
    ::explicit_bzero(now.data(), now.size() * kTokenBytes);
  }
}

void TrueWords::remember() {
  const DeviceRights rights;
  const VariableAccess variables;
  for (Piece& piece : pieces_) piece.host = words_at(piece.begin, piece.words);
}

// Calls visit(whether the page changed, its words in the room, the first word, their number). The
// room begins with a byte for each page.
template <typename Visit>
void TrueWords::for_each_page(Piece& piece, std::byte* room, const Visit& visit) const {
  auto* changed = reinterpret_cast<std::uint8_t*>(room) + piece.page;
  std::byte* page = room + round_up(pages_, kPage) + piece.page * kPage;
  for (std::size_t word = 0; word < piece.words; word += kPageWords, page += kPage)
    visit(*changed++, reinterpret_cast<std::uint32_t*>(page), word,
          std::min(kPageWords, piece.words - word));
}

void TrueWords::reveal_to(std::byte* arguments, std::byte* room, TrueWords&& last) {
  const TokenTable::Open open(only<TokenTable>(), 0);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    piece.host = std::move(last.pieces_[i].host);
    if (piece.kind == Kind::kArguments)
      change_words(arguments, piece.begin, piece.words * kTokenBytes,
                   [&](std::uint32_t word, std::uint32_t next) { return open.word(word, next); });
    if (piece.kind != Kind::kShared) continue;
    std::uint8_t* before = nullptr;
    for_each_page(piece, room, [&](std::uint8_t& changed, auto*, std::size_t first, auto count) {
      const std::byte* const now = piece.begin + first * kTokenBytes;
      changed = std::memcmp(&piece.host[first], now, count * kTokenBytes) != 0 ? 1 : 0;
      if (changed != 0) std::memcpy(&piece.host[first], now, count * kTokenBytes);
      // The last word of the page before may now be the first half of a pointer.
      if (changed != 0 && before != nullptr) *before = 1;
      before = &changed;
    });
    for_each_page(piece, room,
                  [&](std::uint8_t changed, auto* words, std::size_t first, auto count) {
                    for (std::size_t word = first; changed != 0 && word < first + count; ++word)
                      *words++ = open.word(piece.host[word], next_word(piece.host, word));
                  });
  }
}

void TrueWords::take_over(std::byte* room) {
  for (Piece& piece : pieces_) {
    if (piece.kind != Kind::kShared) continue;
    for_each_page(piece, room,
                  [&](std::uint8_t changed, auto* words, std::size_t first, auto count) {
                    if (changed == 0) return;
                    std::memcpy(piece.begin + first * kTokenBytes, words, count * kTokenBytes);
                    std::memcpy(&piece.kernel[first], words, count * kTokenBytes);
                  });
  }
}

void TrueWords::hand_over(std::byte* room) {
  for (Piece& piece : pieces_) {
    if (piece.kind == Kind::kArguments) continue;
    for_each_page(
        piece, room, [&](std::uint8_t& changed, auto* words, std::size_t first, auto count) {
          const std::byte* const now = piece.begin + first * kTokenBytes;
          changed = std::memcmp(&piece.kernel[first], now, count * kTokenBytes) != 0 ? 1 : 0;
          if (changed == 0) return;
          std::memcpy(&piece.kernel[first], now, count * kTokenBytes);
          std::memcpy(words, now, count * kTokenBytes);
        });
  }
}

void TrueWords::settle(std::byte* room) {
  for (Piece& piece : pieces_) {
    if (piece.kind == Kind::kArguments) continue;
    std::vector<std::uint32_t> now;
    for_each_page(piece, room,
                  [&](std::uint8_t changed, auto* words, std::size_t first, auto count) {
                    if (changed == 0) return;
                    if (now.empty()) now = true_words(piece.host);
                    std::copy_n(words, count, now.begin() + first);
                  });
    if (now.empty()) continue;
    const DeviceRights rights;
    const VariableAccess variables;
    settle(piece, now);
    ::explicit_bzero(now.data(), now.size() * kTokenBytes);
  }
}

void TrueWords::settle(Piece& piece, std::vector<std::uint32_t>& now) {
  TokenTable::Open open(only<TokenTable>(), now.size());
  std::vector<bool> plain(now.size());
  bool is_told = true;  // whatever changed
  for (std::size_t begin = 0; begin < now.size() && piece.kind != Kind::kArguments; ++begin) {
    const auto is_new = [&](std::size_t i) {
      return now[i] != open.word(piece.host[i], next_word(piece.host, i));
    };
    std::size_t end = begin;
    while (end < now.size() && is_new(end)) ++end;
    if (end == begin) continue;
    if (piece.kind == Kind::kShared && only<TokenTable>().passes_plain(end - begin)) {
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
