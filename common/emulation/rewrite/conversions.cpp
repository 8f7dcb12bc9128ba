// Casts, shifts and first values of kernels, where a GPU has a value and C++ none.
//
// Idea     (int)3e9f is 2147483647 on a GPU and -2147483648 on the host's processor; 1u << 32 is 0
//          there and 1 here. Both are written in tokens that can be found: before a cast to a whole
//          number goes another one, to a class that converts as a GPU does; a shift by what is no
//          number, and the first value of a whole number, go through objects that know the type.
//          Nothing but the place of the cast or the sign must be known: where its operand ends is
//          left to the compiler, so that a macro may write any part of it.
// Picture  (int)x          →  (int)(CastThrough<int>)x
//          a << n          →  a << DeviceShift{} << n
//          a >>= n         →  a >>= DeviceShift{} = n
//          int i = x;      →  int i = Initial<int>{} = x;
// Limits   Silent where tokens leave open what a cast or a shift is, and for other conversions
//          without a cast: runtime/compiler_checks.cpp reports what these do.

#include <string>
#include <string_view>

#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

const Words kOtherTypes = words_of("float double bool void struct * half __half std ::");
const Words kNoOperands = words_of(
    "sizeof alignof decltype typeid noexcept operator new delete co_await throw return case goto "
    "const mutable override final");

class ConversionRewriter {
 public:
  explicit ConversionRewriter(const File& file)
      : source_(file.source), names_(file.names), editor_(file.editor) {}

  void run() {
    for (std::size_t i = 1; i + 1 < source_.size(); ++i) {
      if (!source_.may_be_device_code(i)) continue;
      if (source_.is(i, "(")) {
        rewrite_cast(i);
      } else if (source_.is(i, "static_cast")) {
        rewrite_static_cast(i);
      } else if (kWholeNumbers.contains(source_[i].text)) {
        rewrite_functional_cast(i);
        rewrite_declaration(i);
      } else if (names_.cast_types.contains(source_[i].text)) {
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

  /// Whether the tokens name a whole number.
  [[nodiscard]] bool is_whole(std::size_t begin, std::size_t end) const {
    while (begin < end && source_.is(begin, "const")) ++begin;
    for (std::size_t i = begin; i < end; ++i)
      if (!kWholeNumbers.contains(source_[i].text)) return false;
    return begin < end;
  }

  /// Whether they are one word that may stand for a whole number.
  [[nodiscard]] bool may_be_whole(std::size_t begin, std::size_t end) const {
    return begin + 1 == end && source_[begin].kind == Token::Kind::kIdentifier &&
           !kOtherTypes.contains(source_[begin].text);
  }

  /// Whether the word in parentheses at `open` is a type, because of what stands before and behind.
  [[nodiscard]] bool is_cast_to_name(std::size_t open, std::size_t operand) const {
    static const Words others = words_of("if while for switch catch new");
    if (!may_be_whole(open + 1, source_.partner(open)) || others.contains(source_[open - 1].text))
      return false;
    const Token& token = source_[operand];
    return token.kind == Token::Kind::kIdentifier || token.kind == Token::Kind::kNumber ||
           (token.is("(") && names_.cast_types.contains(source_[open + 1].text));
  }

  /// The words of the type without const, in angles.
  [[nodiscard]] std::string argument(std::size_t begin, std::size_t end) const {
    std::string type;
    for (std::size_t i = begin; i < end; ++i)
      if (!source_.is(i, "const"))
        type += std::string(type.empty() ? "<" : " ") + std::string(source_[i].text);
    return type + ">";
  }

  /// Whether an expression may begin with token i, in the piece of text that j stands in.
  [[nodiscard]] bool begins_operand(std::size_t i, std::size_t j) const {
    if (i >= source_.size() || source_[i].directive != source_[j].directive) return false;
    static const Words begin = words_of("( :: - + ~ ! * &");
    const Token& token = source_[i];
    return token.kind == Token::Kind::kPunctuation
               ? begin.contains(token.text)
               : token.kind != Token::Kind::kString && !kNoOperands.contains(token.text);
  }

  /// Whether what stands before token i cannot be the function, or the type, of the parentheses
  /// that open there.
  [[nodiscard]] bool follows_operator(std::size_t i) const {
    const Token& before = source_[i - 1];
    if (before.directive != source_[i].directive || source_.begins_replacement(i)) return true;
    if (before.kind == Token::Kind::kIdentifier) return is_keyword(before.text);
    return before.kind == Token::Kind::kPunctuation && !before.is("]") && !before.is(">");
  }

  void rewrite_cast(std::size_t open) {
    const std::size_t close = source_.partner(open);
    if (!source_.opens(open) || !follows_operator(open) || !begins_operand(close + 1, close) ||
        (!is_whole(open + 1, close) && !is_cast_to_name(open, close + 1)))
      return;
    const std::size_t end = source_[close].end();
    editor_.insert(end, joined({"(", kRuntime, "CastThrough", argument(open + 1, close), ")",
                                editor_.anchor(close, end)}));
  }

  void rewrite_static_cast(std::size_t i) {
    std::size_t close = i + 2;
    while (close < source_.size() && source_[close].kind == Token::Kind::kIdentifier) ++close;
    if (!source_.is(i + 1, "<") || !source_.is(close, ">") ||
        (!is_whole(i + 2, close) && !may_be_whole(i + 2, close)))
      return;
    replace_by_cast(i, close, argument(i + 2, close));
  }

  void replace_by_cast(std::size_t first, std::size_t last, const std::string& type) {
    const std::size_t begin = source_[first].offset;
    const std::size_t end = source_[last].end();
    const std::string_view words = std::string_view(type).substr(1, type.size() - 2);
    editor_.replace_range(
        begin, end - begin,
        joined({"(", words, ")(", kRuntime, "CastThrough", type, ")", editor_.anchor(last, end)}));
  }

  /// int(x) or T(x), not a declaration and not the type of a function, nor of several values.
  void rewrite_functional_cast(std::size_t i) {
    if (!source_.is(i + 1, "(") || !source_.opens(i + 1) || source_.is(i, "const")) return;
    for (std::size_t j = i + 2; j < source_.partner(i + 1); ++j)
      if (source_.opens(j))
        j = source_.partner(j);
      else if (source_.is(j, ","))
        return;
    static const Words before = words_of("= + - * / % & | ^ ~ ! ? : [ ( , return");
    const bool is_first = begins_operand(i + 2, i) && !kOtherTypes.contains(source_[i + 2].text) &&
                          !kWholeNumbers.contains(source_[i + 2].text);
    const std::size_t behind = source_.partner(i + 1) + 1;
    // The first of a list, and not the declaration that begins a block.
    const bool is_in_list =
        source_.is(i - 1, "{") && (source_.is(behind, ",") || source_.is(behind, "}"));
    if (!is_first ||
        (!before.contains(source_[i - 1].text) && !source_.begins_replacement(i) && !is_in_list))
      return;
    if ((source_.is(i - 1, "(") || source_.is(i - 1, ",")) && behind < source_.size() &&
        source_[behind].kind == Token::Kind::kIdentifier)
      return;  // operands of a macro
    replace_by_cast(i, i, argument(i, i + 1));
  }

  /// The first values in `int i = x, j = y;`.
  void rewrite_declaration(std::size_t type) {
    static const Words before = words_of("; { } ( ) , : static constexpr volatile register");
    if (!before.contains(source_[type - 1].text) && !source_.begins_replacement(type)) return;
    static const Words ends = words_of("; { } ( )");
    for (std::size_t j = type; j-- > 0 && !ends.contains(source_[j].text);)
      if (source_.is(j, "template")) return;
    std::size_t name = type;
    while (name < source_.size() && kWholeNumbers.contains(source_[name].text)) ++name;
    if (!is_whole(type, name)) return;
    const std::string object = joined({" ", kRuntime, "Initial", argument(type, name), "{} ="});
    for (; name + 2 < source_.size() && source_[name].kind == Token::Kind::kIdentifier &&
           source_.is(name + 1, "=") && source_[name].directive == source_[type].directive;
         ++name) {
      const std::size_t value = name + 2;
      const bool is_literal = source_[value].kind == Token::Kind::kNumber &&
                              (source_.is(value + 1, ";") || source_.is(value + 1, ","));
      if (!is_literal && begins_operand(value, type))
        editor_.insert(source_[name + 1].end(),
                       object + editor_.anchor(name + 1, source_[name + 1].end()));
      for (name = value; name < source_.size() && !source_.is(name, ",") && !source_.is(name, ";");
           ++name)
        if (source_.opens(name)) name = source_.partner(name);
      if (!source_.is(name, ",")) return;  // what follows may be a float
    }
  }

  void rewrite_shift(std::size_t i) {
    const bool left = source_.is(i, "<");
    if (source_.is_triple(i, '<') || source_.is_triple(i, '>') || source_.is_triple(i - 1, '<') ||
        source_.is_triple(i - 1, '>') || source_.is(i - 1, "operator"))
      return;
    // The end of two templates; i < n >> 1 closes only one.
    if (!left && source_.opening_angle(i) < source_.size() &&
        source_.opening_angle(i + 1) < source_.size())
      return;
    const bool assigns = source_.is(i + 2, "=") && source_[i + 2].offset == source_[i + 1].end();
    const std::size_t last = assigns ? i + 2 : i + 1;
    static const Words arithmetic = words_of("+ - * / %");
    const bool is_number = last + 2 < source_.size() &&
                           source_[last + 1].kind == Token::Kind::kNumber &&
                           !arithmetic.contains(source_[last + 2].text);
    if (is_number || !begins_operand(last + 1, i)) return;
    const std::size_t end = source_[last].end();
    const std::string_view symbol = assigns ? " =" : left ? " <<" : " >>";
    editor_.insert(end,
                   joined({" ", kRuntime, "DeviceShift{}", symbol, editor_.anchor(last, end)}));
  }

  const Source& source_;
  const Names& names_;
  Editor& editor_;
};

}  // namespace

void rewrite_conversions(const File& file) {
  ConversionRewriter(file).run();
}

}  // namespace convlab::rewrite
