// Arrays that a thread of a kernel keeps for itself: a GPU has them in registers only where the
// compiler knows each index; all others lie in memory of the device.
//
// Idea     nvcc writes loops out whose numbers it knows. So it knows a variable if it knows what
//          that begins with, what is assigned to it, and how long the loops around these statements
//          go on. An index is known if its text is a constant once a number stands for each such
//          variable. Whether a text is one, the compiler says that reads it.
// Picture  for (int i = 0; i < n; ++i) sum += row[i];
//          row[note_index(row, i, __builtin_constant_p(0) & __builtin_constant_p(1 < n) & …,
//          false)]
// Limits   Pointers into such an array are not followed, nor parameters that are references to one.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

/// A variable that a function declares.
struct Declared {
  std::size_t name = 0;
  std::size_t scope_end = 0;
  std::size_t value = 0;  ///< first token of what it begins with; 0: nothing
  std::size_t value_end = 0;
  bool is_own = true;  ///< of the thread, and no pointer or reference
};

class OwnArrays {
 public:
  explicit OwnArrays(const File& file) : source_(file.source), editor_(file.editor) {}

  void run() {
    std::vector<std::size_t> braces;
    for (std::size_t i = 1; i + 1 < source_.size(); ++i) {
      if (source_.is(i, "{")) braces.push_back(i);
      if (source_.is(i, "}") && !braces.empty()) braces.pop_back();
      if (!is_code(i) || braces.empty()) continue;
      const bool in_loop = source_.is(i - 1, "(") && i > 1 && source_.is(i - 2, "for");
      if ((source_.is(i, "for") || source_.is(i, "while")) && source_.opens(i + 1))
        loops_.push_back({i + 1, end_of_loop(i + 1)});
      if (in_loop)
        declare(i, end_of_loop(i - 1));
      else if (source_.is(i - 1, ";") || source_.is(i - 1, "{") || source_.is(i - 1, "}"))
        declare(i, source_.partner(braces.back()));
    }
    for (std::size_t i = 1; i + 1 < source_.size(); ++i)
      if (is_code(i) && source_.is(i, "[") && source_[i - 1].kind == Token::Kind::kIdentifier)
        visit(i);
  }

 private:
  struct Loop {
    std::size_t open = 0;  ///< its (
    std::size_t end = 0;
  };

  [[nodiscard]] bool is_code(std::size_t i) const {
    return source_.in_device_code(i) && source_[i].directive == 0;
  }

  /// The token behind a type's words, pointers and the name; the name is the last word of them.
  [[nodiscard]] std::size_t behind_name(std::size_t i, std::size_t& name) const {
    for (; i < source_.size(); ++i) {
      if (source_[i].kind == Token::Kind::kIdentifier) {
        if (is_keyword(source_[i].text)) break;
        name = i;
      } else if (source_.is(i, "<")) {
        std::size_t close = i + 1;
        while (close < source_.size() && !source_.is(close, ";") &&
               !(source_.is(close, ">") && source_.opening_angle(close) == i))
          ++close;
        if (!source_.is(close, ">")) break;
        i = close;
      } else if (!source_.is(i, "::") && !source_.is(i, "*") && !source_.is(i, "&")) {
        break;
      }
    }
    return i;
  }

  /// Notes what the statement at i declares, if it declares variables.
  void declare(std::size_t i, std::size_t scope_end) {
    static const Words elsewhere = words_of("__shared__ extern static");
    static const Words behind = words_of("; = , [ { ( :");
    std::size_t name = 0;
    std::size_t end = behind_name(i, name);
    static const Words names = words_of("using typedef namespace");
    const bool has_type =
        name > i && source_[i].kind == Token::Kind::kIdentifier && !names.contains(source_[i].text);
    const bool is_own =
        !source_.has(i, end, elsewhere) && !source_.is(name - 1, "*") && !source_.is(name - 1, "&");
    while (has_type && name + 1 == end && end < scope_end && behind.contains(source_[end].text)) {
      Declared variable{name, scope_end, 0, 0, is_own};
      if (source_.is(end, "=")) variable.value = end + 1;
      while (end < scope_end && !source_.is(end, ",") && !source_.is(end, ";"))
        end = source_.opens(end) ? source_.partner(end) + 1 : end + 1;
      variable.value_end = end;
      declared_.push_back(variable);
      if (!source_.is(end, ",")) return;
      end = behind_name(end + 1, name);
    }
  }

  /// @param open  the ( behind for
  [[nodiscard]] std::size_t end_of_loop(std::size_t open) const {
    std::size_t i = source_.opens(open) ? source_.partner(open) + 1 : open;
    while (i < source_.size() && !source_.is(i, ";") && !source_.is(i, "{"))
      i = source_.opens(i) ? source_.partner(i) + 1 : i + 1;
    return source_.opens(i) ? source_.partner(i) : i;
  }

  /// The variable that the word at i means.
  [[nodiscard]] const Declared* meaning(std::size_t i) const {
    if (source_.is(i - 1, ".") || source_.is(i - 1, "->") || source_.is(i - 1, "::") ||
        source_.is(i + 1, "::"))
      return nullptr;
    for (std::size_t k = declared_.size(); k-- > 0;)
      if (const Declared& each = declared_[k];
          each.name <= i && i < each.scope_end && source_[each.name].text == source_[i].text)
        return &each;
    return nullptr;
  }

  [[nodiscard]] bool is_pair(std::size_t i, std::string_view sign) const {
    return source_.is(i, sign) && source_.is(i + 1, sign) &&
           source_[i].end() == source_[i + 1].offset;
  }

  /// Whether the token is part of ++ or --.
  [[nodiscard]] bool counts(std::size_t i) const {
    return is_pair(i, "+") || is_pair(i - 1, "+") || is_pair(i, "-") || is_pair(i - 1, "-");
  }

  /// First token of what the operator behind a name assigns; 0: it assigns nothing.
  [[nodiscard]] std::size_t assigned(std::size_t name) const {
    static const Words signs = words_of("+ - * / % & | ^");
    std::size_t i = name + 1;
    if (signs.contains(source_[i].text)) ++i;
    if (is_pair(i, "<") || is_pair(i, ">")) i += 2;
    return source_.is(i, "=") && !source_.is(i + 1, "=") ? i + 1 : 0;
  }

  /// Whether a & stands before the token that takes the address.
  [[nodiscard]] bool is_address(std::size_t i) const {
    return source_.is(i - 1, "&") && source_[i - 2].kind == Token::Kind::kPunctuation &&
           !source_.is(i - 2, ")") && !source_.is(i - 2, "]");
  }

  [[nodiscard]] std::size_t end_of_expression(std::size_t i) const {
    while (!source_.is(i, ";") && !source_.is(i, ",") && !source_.is(i, ")") &&
           i + 1 < source_.size())
      i = source_.opens(i) ? source_.partner(i) + 1 : i + 1;
    return i;
  }

  /// Where a variable gets another value.
  struct Changes {
    std::vector<std::size_t> places{};  ///< its name there
    bool has_address = false;           ///< or somewhere else, by a pointer
  };

  const Changes& changes_of(const Declared& variable) {
    const auto [known, is_new] = changes_.try_emplace(&variable);
    Changes& changes = known->second;
    for (std::size_t i = variable.value_end; is_new && i < variable.scope_end; ++i) {
      if (source_[i].text != source_[variable.name].text || source_.is(i - 1, ".")) continue;
      changes.has_address = changes.has_address || is_address(i);
      if (assigned(i) != 0 || counts(i + 1) || counts(i - 1)) changes.places.push_back(i);
    }
    return changes;
  }

  /// All that nvcc must know to know the variable goes to known_.
  /// @return false if it cannot
  bool ask_for(const Declared& variable) {
    if (variable.value == 0) return false;
    if (std::ranges::count(asked_, &variable) > 0) return true;
    asked_.push_back(&variable);
    add(variable.value, variable.value_end);
    const Changes& changes = changes_of(variable);
    for (const std::size_t i : changes.places) {
      if (const std::size_t value = assigned(i); value != 0) add(value, end_of_expression(value));
      for (const Loop& loop : loops_) {
        const bool begins_later =
            loop.open > variable.name || variable.name < source_.partner(loop.open);
        if (begins_later && loop.open < i && i < loop.end) ask_for_end(loop);
      }
    }
    return !changes.has_address;
  }

  /// When the loop ends: in a for the second part.
  void ask_for_end(const Loop& loop) {
    const std::size_t close = source_.partner(loop.open);
    std::size_t begin = loop.open + 1;
    while (begin < close && !source_.is(begin, ";")) ++begin;
    if (begin == close) return add(loop.open + 1, close);
    std::size_t end = begin + 1;
    while (end < close && !source_.is(end, ";")) ++end;
    add(begin + 1, end);
  }

  /// The tokens must be a constant.
  void add(std::size_t begin, std::size_t end) {
    std::string text;
    bool has_names = false;  // numbers alone are one
    for (std::size_t i = begin; i < end; ++i) {
      if (counts(i)) continue;
      const bool is_name = source_[i].kind == Token::Kind::kIdentifier;
      const Declared* const variable = is_name ? meaning(i) : nullptr;
      has_names = has_names || (is_name && variable == nullptr);
      // What is no simple variable may not be visible where the text will stand.
      may_be_known_ =
          may_be_known_ && !source_.is(i, "{") && (variable == nullptr || ask_for(*variable));
      if (i > begin && source_[i - 1].end() != source_[i].offset) text += " ";
      text += variable != nullptr ? "1" : source_[i].text;
    }
    if (has_names) known_.push_back("__builtin_constant_p(" + text + ")");
  }

  /// An element that begins behind a name: row[i], tile.rows[i][j].
  void visit(std::size_t open) {
    std::size_t first = open - 1;
    while (first > 1 && source_.is(first - 1, ".") &&
           source_[first - 2].kind == Token::Kind::kIdentifier)
      first -= 2;
    const Declared* const array = meaning(first);
    if (array == nullptr || array->name == first || !array->is_own) return;
    if (is_address(first)) return;
    may_be_known_ = true;
    known_.clear();
    asked_.clear();
    std::size_t last = open;
    for (std::size_t i = open; source_.is(i, "[") && source_.opens(i); i = source_.partner(i) + 1) {
      last = i;
      add(i + 1, source_.partner(i));
    }
    if (!source_.opens(last) || last + 1 == source_.partner(last)) return;
    if (may_be_known_ && known_.empty()) return;
    std::string is_known = may_be_known_ ? "true" : "false";
    for (const std::string& each : known_)
      if (may_be_known_) is_known += " & " + each;
    const std::size_t close = source_.partner(last);
    const bool writes = source_.is(close + 1, "=") && !source_.is(close + 2, "=");
    editor_.insert(source_[last].end(),
                   joined({kRuntime, "note_index(", source_.text(first, last), ", "}));
    editor_.insert(source_[close].offset,
                   joined({", ", is_known, writes ? ", true)" : ", false)"}));
  }

  const Source& source_;
  Editor& editor_;
  std::vector<Declared> declared_;
  std::vector<Loop> loops_;
  std::map<const Declared*, Changes> changes_;
  bool may_be_known_ = true;
  std::vector<std::string> known_;      ///< what must be constant for the element at hand
  std::vector<const Declared*> asked_;  ///< variables that known_ has the texts of
};

}  // namespace

void rewrite_own_arrays(const File& file) {
  OwnArrays(file).run();
}

}  // namespace convlab::rewrite
