// Casts and shifts of kernels, where a GPU has a value and C++ none.
//
// Idea     (int)3e9f is 2147483647 on a GPU and -2147483648 on the host's processor; 1u << 32 is 0
//          there and 1 here. Both are written in tokens that can be found: a cast to a whole number
//          becomes a call of cast<T>, which saturates, and a shift by what is no number
//          goes through an object whose operators know the width.
// Picture  (int)x         →  cast<int>(x)
//          a << n         →  a << DeviceShift{} << n
//          a >>= n        →  a >>= DeviceShift{} = n
// Limits   Silent where tokens leave open what a cast or a shift is, in macros and for conversions
//          without a cast: common/emulation/checks reports what these do.

#include <string>
#include <string_view>

#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

/// Words of types, of which several make one type.
const Words kWholeNumbers = words_of(
    "char signed unsigned short int long size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t "
    "uint16_t uint32_t uint64_t uint uchar ushort ulong const");
const Words kOtherTypes = words_of("float double bool void struct * half __half std ::");
const Words kNoOperands = words_of(
    "sizeof alignof decltype typeid noexcept operator new delete co_await throw return case goto");
const Words kCasts = words_of("static_cast reinterpret_cast const_cast dynamic_cast");

class ConversionRewriter {
 public:
  explicit ConversionRewriter(const File& file) : source_(file.source), editor_(file.editor) {}

  void run() {
    for (std::size_t i = 1; i + 1 < source_.size(); ++i) {
      if (source_[i].directive != 0 || !source_.in_device_code(i)) continue;
      if (source_.is(i, "(")) {
        rewrite_cast(i);
      } else if (source_.is(i, "static_cast")) {
        rewrite_static_cast(i);
      } else if (kWholeNumbers.contains(source_[i].text)) {
        rewrite_functional_cast(i);
      } else if (are_adjacent(i, "<") || are_adjacent(i, ">")) {
        rewrite_shift(i);
      }
    }
  }

 private:
  [[nodiscard]] bool are_adjacent(std::size_t i, std::string_view text) const {
    return source_.is(i, text) && source_.is(i + 1, text) &&
           source_[i + 1].offset == source_[i].end();
  }

  [[nodiscard]] bool are_all(std::size_t begin, std::size_t end, const Words& words,
                             const Words& more = {}) const {
    for (std::size_t i = begin; i < end; ++i)
      if (!words.contains(source_[i].text) && !more.contains(source_[i].text)) return false;
    return begin < end;
  }

  [[nodiscard]] bool is_word(std::size_t i) const {
    return i < source_.size() && source_[i].kind == Token::Kind::kIdentifier;
  }

  /// Whether an expression may begin with token i.
  [[nodiscard]] bool begins_operand(std::size_t i) const {
    if (i >= source_.size()) return false;
    const Token& token = source_[i];
    return (token.kind == Token::Kind::kPunctuation)
               ? token.is("(") || token.is("::") || is_sign(i)
               : token.kind != Token::Kind::kString && !kNoOperands.contains(token.text);
  }
  [[nodiscard]] bool is_sign(std::size_t i) const {
    static const Words signs = words_of("- + ~ ! * &");
    return signs.contains(source_[i].text);
  }

  /// Whether what stands before token i cannot be the function, or the type, of the parentheses
  /// that open there.
  [[nodiscard]] bool follows_operator(std::size_t i) const {
    const Token& before = source_[i - 1];
    if (before.kind == Token::Kind::kIdentifier) return is_keyword(before.text);
    return before.kind == Token::Kind::kPunctuation && !before.is("]") && !before.is(">");
  }

  /// The token behind the operand of a cast that begins at i, or size() if that is not certain.
  [[nodiscard]] std::size_t after_operand(std::size_t i) const {
    const std::size_t unknown = source_.size();
    for (; i < source_.size(); ++i) {
      if (source_.is(i, "(") && source_.opens(i) &&
          are_all(i + 1, source_.partner(i), kWholeNumbers, kOtherTypes))
        i = source_.partner(i);  // another cast
      else if (!is_sign(i) && !source_.is(i, "::"))
        break;
    }
    if (!begins_operand(i)) return unknown;
    if (kCasts.contains(source_[i].text)) {
      while (i < source_.size() && !source_.is(i, "(")) ++i;
      if (i == source_.size() || !source_.opens(i)) return unknown;
    }
    // (T)x with a type that this file does not know
    if (source_.is(i, "(")) {
      if (!source_.opens(i)) return unknown;
      i = source_.partner(i);
      if (is_word(i + 1) || (i + 1 < source_.size() && source_[i + 1].kind == Token::Kind::kNumber))
        return unknown;
    }
    for (++i; i < source_.size(); ++i) {
      if ((source_.is(i, "(") || source_.is(i, "[")) && source_.opens(i))
        i = source_.partner(i);
      else if ((source_.is(i, ".") || source_.is(i, "->") || source_.is(i, "::")) && is_word(i + 1))
        ++i;
      else
        break;
    }
    // The arguments of a template, a literal of {}, or x++
    const bool increments =
        (are_adjacent(i, "+") || are_adjacent(i, "-")) && !begins_operand(i + 2);
    if (i >= source_.size() || source_.is(i, "{") || increments) return unknown;
    if (source_.is(i, "<") && is_word(i - 1) && !are_adjacent(i, "<") &&
        (source_.is(i - 2, "::") || source_.is(i - 2, ".") || closes_before_call(i)))
      return unknown;
    return i;
  }

  /// Whether a > follows in the same expression, with ( or :: behind it.
  [[nodiscard]] bool closes_before_call(std::size_t i) const {
    for (; i + 1 < source_.size() && !source_.is(i, ";") && !source_.is(i, ")"); ++i)
      if (source_.is(i, ">") && (source_.is(i + 1, "(") || source_.is(i + 1, "::"))) return true;
    return false;
  }

  /// The words of the type without const.
  [[nodiscard]] std::string call_of(std::size_t begin, std::size_t end) const {
    std::string type;
    for (std::size_t i = begin; i < end; ++i)
      if (!source_.is(i, "const"))
        type += std::string(type.empty() ? "" : " ") + std::string(source_[i].text);
    return type.empty() ? "" : joined({kRuntime, "cast<", type, ">"});
  }

  void rewrite_cast(std::size_t open) {
    const std::size_t close = source_.partner(open);
    if (!source_.opens(open) || !are_all(open + 1, close, kWholeNumbers) ||
        !follows_operator(open) || !begins_operand(close + 1))
      return;
    const std::size_t after = after_operand(close + 1);
    const std::string call = call_of(open + 1, close);
    if (after == source_.size() || call.empty()) return;
    const std::size_t end = source_[after - 1].end();
    editor_.replace_range(source_[open].offset, source_[close].end() - source_[open].offset,
                          call + "(");
    editor_.insert(end, ")" + editor_.anchor(after - 1, end));
  }

  void rewrite_static_cast(std::size_t i) {
    std::size_t close = i + 2;
    while (close < source_.size() && kWholeNumbers.contains(source_[close].text)) ++close;
    const std::string call = call_of(i + 2, close);
    if (!source_.is(i + 1, "<") || !source_.is(close, ">") || call.empty()) return;
    editor_.replace_range(source_[i].offset, source_[close].end() - source_[i].offset, call);
  }

  /// int(x), not a declaration and not the type of a function.
  void rewrite_functional_cast(std::size_t i) {
    if (!source_.is(i + 1, "(") || !source_.opens(i + 1) || source_.is(i, "const")) return;
    static const Words before = words_of("= + - * / % & | ^ ~ ! ? : [ ( , return");
    const bool is_first = begins_operand(i + 2) && !kWholeNumbers.contains(source_[i + 2].text) &&
                          !kOtherTypes.contains(source_[i + 2].text);
    if (!before.contains(source_[i - 1].text) || !is_first) return;
    if ((source_.is(i - 1, "(") || source_.is(i - 1, ",")) && is_word(source_.partner(i + 1) + 1))
      return;  // operands of a macro
    editor_.replace(i, call_of(i, i + 1));
  }

  void rewrite_shift(std::size_t i) {
    const bool left = source_.is(i, "<");
    if (source_.is_triple(i, '<') || source_.is_triple(i, '>') || source_.is_triple(i - 1, '<') ||
        source_.is_triple(i - 1, '>') || source_.is(i - 1, "operator"))
      return;
    if (!left && (source_.opening_angle(i) < source_.size() ||
                  source_.opening_angle(i + 1) < source_.size()))
      return;
    const bool assigns = source_.is(i + 2, "=") && source_[i + 2].offset == source_[i + 1].end();
    const std::size_t last = assigns ? i + 2 : i + 1;
    static const Words arithmetic = words_of("+ - * / %");
    const bool is_number = last + 2 < source_.size() &&
                           source_[last + 1].kind == Token::Kind::kNumber &&
                           !arithmetic.contains(source_[last + 2].text);
    if (is_number || !begins_operand(last + 1)) return;
    const std::size_t end = source_[last].end();
    const std::string_view symbol = assigns ? " =" : left ? " <<" : " >>";
    editor_.insert(end,
                   joined({" ", kRuntime, "DeviceShift{}", symbol, editor_.anchor(last, end)}));
  }

  const Source& source_;
  Editor& editor_;
};

}  // namespace

void rewrite_conversions(const File& file) {
  ConversionRewriter(file).run();
}

}  // namespace convlab::rewrite
