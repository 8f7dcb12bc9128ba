#include "common/emulation/rewrite/lexer.hpp"

#include <algorithm>

namespace convlab::rewrite {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (position_ < source_.size()) step();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char at(std::size_t position) const {
    return position < source_.size() ? source_[position] : '\0';
  }

  /// Length of a backslash and a line end at the position, 0 if there is none.
  [[nodiscard]] std::size_t continuation(std::size_t position) const {
    if (at(position) != '\\') return 0;
    if (at(position + 1) == '\n') return 2;
    return at(position + 1) == '\r' && at(position + 2) == '\n' ? 3 : 0;
  }

  void step() {
    const char c = source_[position_];
    if (const std::size_t length = continuation(position_)) {
      position_ += length;
      ++line_;
    } else if (c == '\n') {
      ++position_;
      ++line_;
      directive_ = 0;
      line_is_blank_ = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      skip_line_comment();
    } else if (c == '/' && at(position_ + 1) == '*') {
      skip_block_comment();
    } else {
      if (c == '#' && line_is_blank_) directive_ = ++directives_;
      line_is_blank_ = false;
      read_token(c);
    }
  }

  void skip_line_comment() {
    while (position_ < source_.size() && source_[position_] != '\n') {
      const std::size_t length = continuation(position_);
      if (length != 0) ++line_;
      position_ += std::max<std::size_t>(length, 1);
    }
  }

  void skip_block_comment() {
    const std::size_t end = std::min(source_.find("*/", position_ + 2), source_.size() - 2) + 2;
    line_ += static_cast<std::size_t>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(position_),
                   source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    position_ = end;
  }

  void read_token(char c) {
    if (is_letter(c)) {
      std::size_t end = position_;
      while (is_letter(at(end)) || is_digit(at(end))) ++end;
      const std::string_view word = source_.substr(position_, end - position_);
      if (at(end) == '"' && word.ends_with('R') && word.size() <= 3) {
        read_raw_string(end);
      } else if ((at(end) == '"' || at(end) == '\'') &&
                 (word == "L" || word == "u" || word == "U" || word == "u8")) {
        read_quoted(end);
      } else {
        add(Token::Kind::kIdentifier, end);
      }
    } else if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) {
      read_number();
    } else if (c == '"' || c == '\'') {
      read_quoted(position_);
    } else {
      const char next = at(position_ + 1);
      const bool pair = (c == ':' && next == ':') || (c == '-' && next == '>');
      add(Token::Kind::kPunctuation, position_ + (pair ? 2 : 1));
    }
  }

  void read_number() {
    std::size_t end = position_;
    for (;; ++end) {
      const char c = at(end);
      const bool sign = (c == '+' || c == '-') &&
                        std::string_view("eEpP").find(at(end - 1)) != std::string_view::npos;
      const bool separator = c == '\'' && (is_letter(at(end + 1)) || is_digit(at(end + 1)));
      if (!is_letter(c) && !is_digit(c) && c != '.' && !separator && !(sign && end > position_))
        break;
    }
    add(Token::Kind::kNumber, end);
  }

  /// @param open  position of the opening quote, which a prefix may precede
  void read_quoted(std::size_t open) {
    const char quote = source_[open];
    std::size_t end = open + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n')
      end += source_[end] == '\\' ? 2 : 1;
    add(quote == '"' ? Token::Kind::kString : Token::Kind::kCharacter,
        std::min(end + 1, source_.size()));
  }

  void read_raw_string(std::size_t open) {
    const std::size_t parenthesis = std::min(source_.find('(', open), source_.size());
    std::string close = ")";
    close += source_.substr(open + 1, parenthesis - open - 1);
    close += '"';
    const std::size_t found = source_.find(close, parenthesis);
    add(Token::Kind::kString,
        found == std::string_view::npos ? source_.size() : found + close.size());
  }

  void add(Token::Kind kind, std::size_t end) {
    const std::string_view text = source_.substr(position_, end - position_);
    tokens_.push_back({kind, text, position_, line_, directive_});
    line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    position_ = end;
  }

  std::string_view source_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  int directive_ = 0;
  int directives_ = 0;
  bool line_is_blank_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace convlab::rewrite
