#include "common/emulation/rewrite/source.hpp"

#include <algorithm>
#include <utility>

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
      if (at(end) == '"' && word.ends_with('R') && word.size() <= 3)
        read_raw_string(end);
      else if ((at(end) == '"' || at(end) == '\'') &&
               (word == "L" || word == "u" || word == "U" || word == "u8"))
        read_quoted(end);
      else
        add(Token::Kind::kIdentifier, end);
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

namespace {

bool is_opening(std::string_view text) {
  return text == "(" || text == "[" || text == "{";
}
bool is_closing(std::string_view text) {
  return text == ")" || text == "]" || text == "}";
}
std::string_view closing(std::string_view open) {
  return open == "(" ? ")" : open == "[" ? "]" : "}";
}

}  // namespace

Source::Source(std::string_view text) : tokens_(tokenize(text)) {
  match_brackets();
  find_scopes();
  find_device_code({});
  find_parentheses();
}

void Source::match_brackets() {
  partners_.assign(size(), size());
  using Stack = std::vector<std::size_t>;
  // A directive's brackets pair among themselves. The branches of an #if each begin with what was
  // open before it, and what the first leaves open goes on behind #endif: both may open one {.
  struct Branches {
    Stack before;
    Stack first{};
    bool has_others = false;
  };
  std::vector<Branches> branches;
  Stack open;
  Stack open_in_directive;
  const auto enter_branch = [&](std::string_view word) {
    if (word == "if" || word == "ifdef" || word == "ifndef") {
      branches.push_back({.before = open});
    } else if ((word == "else" || word == "elif") && !branches.empty()) {
      if (!std::exchange(branches.back().has_others, true)) branches.back().first = open;
      open = branches.back().before;
    } else if (word == "endif" && !branches.empty()) {
      if (branches.back().has_others) open = std::move(branches.back().first);
      branches.pop_back();
    }
  };
  for (std::size_t i = 0; i < size(); ++i) {
    auto& stack = tokens_[i].directive != 0 ? open_in_directive : open;
    if (i > 0 && tokens_[i].directive != tokens_[i - 1].directive) open_in_directive.clear();
    if (tokens_[i].directive != 0 && i > 0 && tokens_[i - 1].is("#")) enter_branch(tokens_[i].text);
    if (tokens_[i].kind != Token::Kind::kPunctuation) continue;
    if (is_opening(tokens_[i].text)) {
      stack.push_back(i);
    } else if (is_closing(tokens_[i].text)) {
      while (!stack.empty() && closing(tokens_[stack.back()].text) != tokens_[i].text)
        stack.pop_back();
      if (stack.empty()) continue;
      partners_[i] = stack.back();
      partners_[stack.back()] = i;
      stack.pop_back();
    }
  }
}

/// Namespaces and extern "C" keep file scope, classes open class scope, other braces functions.
Scope Source::scope_of_brace(std::size_t brace) const {
  for (std::size_t i = brace; i-- > 0;) {
    const Token& token = tokens_[i];
    if (token.directive != 0) continue;
    if (token.is(";") || token.is("}") || token.is("{")) return Scope::kFunction;
    if (token.is(")")) {
      // struct alignas(16) Name {
      const std::size_t open = partners_[i];
      const bool alignment = open < size() && open > 0 &&
                             (tokens_[open - 1].is("alignas") || tokens_[open - 1].is("__align__"));
      if (!alignment) return Scope::kFunction;
      i = open;
      continue;
    }
    if (token.is("namespace")) return Scope::kFile;
    if (token.kind == Token::Kind::kString && i > 0 && tokens_[i - 1].is("extern"))
      return Scope::kFile;
    if (token.is("class") || token.is("struct") || token.is("union") || token.is("enum"))
      return Scope::kClass;
  }
  return Scope::kFunction;
}

void Source::find_scopes() {
  scopes_.assign(size(), Scope::kFile);
  std::vector<Scope> stack{Scope::kFile};
  std::map<std::size_t, std::size_t> depths;  // of the stack, at each {
  for (std::size_t i = 0; i < size(); ++i) {
    if (tokens_[i].directive == 0) {
      if (const auto depth = depths.find(partners_[i]); tokens_[i].is("}") && depth != depths.end())
        stack.resize(depth->second);
      scopes_[i] = stack.back();
      if (tokens_[i].is("{") && partners_[i] < size()) {
        const Scope inner = scope_of_brace(i);
        depths[i] = stack.size();
        // Everything inside a function is function scope.
        stack.push_back(stack.back() == Scope::kFunction && inner == Scope::kFile ? Scope::kFunction
                                                                                  : inner);
      }
    } else {
      scopes_[i] = stack.back();
    }
  }
}

/// The { of the function whose qualifier stands at token i; size() for a declaration or a variable.
/// @param initialisers  gets the : of a constructor before its members, or size()
std::size_t Source::body_behind(std::size_t i, std::size_t& initialisers) const {
  initialisers = size();
  for (std::size_t j = i + 1; j < size(); ++j) {
    if (tokens_[j].directive != tokens_[i].directive) {
      if (tokens_[i].directive != 0) break;
      continue;
    }
    if (is(j, ";") || is(j, "=") || is(j, "}")) break;
    if (is(j, ":") && is(j - 1, ")")) initialisers = j;
    const bool is_initialiser =
        j > initialisers && (tokens_[j - 1].kind == Token::Kind::kIdentifier || is(j - 1, ">"));
    if (is(j, "{") && !is_initialiser) return j;
    if (opens(j)) j = partners_[j];
  }
  return size();
}

void Source::mark(std::size_t begin, std::size_t end, Certainty certainty) {
  if (end > size()) return;
  take_steps(end - std::min(begin, end));
  for (std::size_t k = begin; k < end; ++k) device_code_[k] = std::max(device_code_[k], certainty);
}

void Source::find_device_code(const MacroTable& macros) {
  device_code_.assign(size(), kNever);
  for (std::size_t i = 0; i < size(); ++i) {
    bool is_qualifier = tokens_[i].is("__global__") || tokens_[i].is("__device__");
    std::size_t last = i;
    if (const auto macro = macros.find(tokens_[i].text);
        macro != macros.end() && macro->second.writes_device_code && tokens_[i].directive == 0) {
      if (macro->second.takes_arguments && opens(i + 1)) {
        last = partners_[i + 1];
        mark(i + 2, last, kPossible);
      }
      is_qualifier = std::ranges::count(macro->second.replacement, "{") == 0;
    }
    if (!is_qualifier) continue;
    std::size_t initialisers = 0;
    const std::size_t body = body_behind(last, initialisers);
    if (body == size()) continue;
    mark(body, partners_[body], kCertain);
    mark(initialisers, body, kPossible);
  }
  // The first values of members, which are those of constructors.
  for (std::size_t i = 2; i < size(); ++i) {
    if (scopes_[i] != Scope::kClass || !is(i, "=") || !kWholeNumbers.contains(tokens_[i - 2].text))
      continue;
    std::size_t end = i;
    while (end < size() && !is(end, ";") && !is(end, "}"))
      end = opens(end) ? partners_[end] : end + 1;
    mark(i, end, kPossible);
  }
}

void Source::mark_used_macros(const MacroTable& macros) {
  for (std::size_t i = 0; i + 2 < size(); ++i) {
    const int directive = tokens_[i].directive;
    if (directive == 0 || !is(i, "#") || !is(i + 1, "define")) continue;
    const auto macro = macros.find(tokens_[i + 2].text);
    if (macro == macros.end() || !macro->second.is_used_by_device) continue;
    std::size_t begin = i + 3;
    if (opens(begin) && tokens_[begin].offset == tokens_[i + 2].end()) begin = partners_[begin] + 1;
    std::size_t end = begin;
    while (end < size() && tokens_[end].directive == directive) ++end;
    mark(begin, end, kPossible);
  }
}

void Source::find_parentheses() {
  in_parentheses_.assign(size(), false);
  std::size_t end = 0;  // of the outermost parentheses so far
  for (std::size_t i = 0; i < size(); ++i) {
    in_parentheses_[i] = i < end;
    const bool opens = tokens_[i].is("(") || tokens_[i].is("[");
    if (opens && tokens_[i].directive == 0 && partners_[i] < size())
      end = std::max(end, partners_[i]);
  }
}

bool Source::is_triple(std::size_t i, char c) const {
  if (i + 2 >= size()) return false;
  const std::string_view one(&c, 1);
  return tokens_[i].text == one && tokens_[i + 1].text == one && tokens_[i + 2].text == one &&
         tokens_[i].end() == tokens_[i + 1].offset && tokens_[i + 1].line == tokens_[i + 2].line;
}

bool Source::begins_replacement(std::size_t i) const {
  if (i < 2 || tokens_[i].directive == 0) return false;
  std::size_t before = i - 1;
  // The parameters of a macro.
  if (is(i, "(") && tokens_[before].end() == tokens_[i].offset) return false;
  if (is(before, ")") && partner(before) < before) before = partner(before) - 1;
  return before > 1 && is(before - 1, "define");
}

std::string Source::name_of_namespace(std::size_t brace) const {
  std::string name;
  for (std::size_t i = brace;
       i-- > 0 && !is(i, ";") && !is(i, "{") && !is(i, "}") && tokens_[i].directive == 0;) {
    if (is(i, "namespace")) return name.empty() ? name : name + "::";
    name.insert(0, tokens_[i].text);
  }
  return {};
}

std::string Source::space_of(std::size_t i) const {
  std::string space;
  while (i-- > 0)
    if (is(i, "}") && partner(i) < i)
      i = partner(i);
    else if (is(i, "{"))
      space.insert(0, name_of_namespace(i));
  return space;
}

std::size_t Source::opening_angle(std::size_t i) const {
  int depth = 0;
  for (std::size_t j = i;; --j) {
    const Token& token = (*this)[j];
    if (token.directive != tokens_[i].directive) {
      return size();
    } else if (is_closing(token.text)) {
      j = partners_[j];
      if (j >= size()) return size();
    } else if (token.is(">")) {
      ++depth;
    } else if (j > 0 && token.is("<") && is(j - 1, "<") && tokens_[j - 1].end() == token.offset) {
      --j;  // a shift
    } else if (token.is("<") && --depth == 0) {
      return j;
    } else if (token.is(";") || is_opening(token.text)) {
      return size();
    }
    if (j == 0) return size();
  }
}

std::string Source::text(std::size_t begin, std::size_t end) const {
  std::string line;
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin && tokens_[i - 1].end() != tokens_[i].offset) line += ' ';
    line += tokens_[i].text;
  }
  return line;
}

Words words_of(std::string_view text) {
  Words words;
  for (const Token& token : tokenize(text)) words.insert(token.text);
  return words;
}

const Words kWholeNumbers = words_of(
    "char signed unsigned short int long size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t "
    "uint16_t uint32_t uint64_t uint uchar ushort ulong const");

bool writes(std::string_view word, const Words& words, const MacroTable& macros) {
  if (words.contains(word)) return true;
  const auto macro = macros.find(word);
  return macro != macros.end() &&
         std::ranges::any_of(macro->second.replacement,
                             [&](const std::string& each) { return words.contains(each); });
}

bool is_keyword(std::string_view text) {
  static const Words keywords =
      words_of("return else do case if while for switch throw new delete co_return");
  return keywords.contains(text);
}

}  // namespace convlab::rewrite
