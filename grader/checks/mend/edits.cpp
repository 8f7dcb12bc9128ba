#include "grader/checks/mend/edits.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>

namespace convlab::grader::mend {

namespace {

using rewrite::Source;
using rewrite::Token;
using rewrite::Words;
using Form = Site::Form;

struct KindWords {
  Kind kind;
  const char* words;
};
constexpr std::array<KindWords, 16> kKindWords = {{
    {Kind::kName, "a name or a number that stands for another one"},
    {Kind::kExchange, "two names that are exchanged"},
    {Kind::kComparison, "the comparison"},
    {Kind::kOperator, "an operator"},
    {Kind::kNumber, "a number"},
    {Kind::kOneMore, "a value that is one too large or one too small"},
    {Kind::kFactorAdded, "a factor that is missing"},
    {Kind::kTermAdded, "something that is not added or subtracted"},
    {Kind::kFactorRemoved, "a factor too many"},
    {Kind::kTermRemoved, "something that is added or subtracted and should not be"},
    {Kind::kParentheses, "the parentheses"},
    {Kind::kAssignment, "how the value is assigned"},
    {Kind::kCondition, "a condition that should not be asked"},
    {Kind::kDeleted, "a statement too many"},
    {Kind::kMoved, "a statement that stands at another place"},
    {Kind::kAdded, "a statement that is missing"},
}};

// Operators by how strongly they bind, and what each may become.
struct Operator {
  const char* text;
  int strength;
  const char* others;  ///< separated by blanks
  Kind kind;
};
constexpr std::array<Operator, 22> kOperators = {{
    {"*", 9, "+ /", Kind::kOperator},
    {"/", 9, "* %", Kind::kOperator},
    {"%", 9, "/", Kind::kOperator},
    {"+", 8, "- *", Kind::kOperator},
    {"-", 8, "+", Kind::kOperator},
    {"<<", 7, ">>", Kind::kOperator},
    {">>", 7, "<<", Kind::kOperator},
    {"<", 6, "<= > >= !=", Kind::kComparison},
    {">", 6, ">= < <= !=", Kind::kComparison},
    {"<=", 6, "< >= >", Kind::kComparison},
    {">=", 6, "> <= <", Kind::kComparison},
    {"==", 5, "!=", Kind::kComparison},
    {"!=", 5, "== <", Kind::kComparison},
    {"&", 4, "|", Kind::kOperator},
    {"|", 3, "&", Kind::kOperator},
    {"&&", 2, "||", Kind::kOperator},
    {"||", 1, "&&", Kind::kOperator},
    {"=", 0, "+=", Kind::kAssignment},
    {"+=", 0, "= -=", Kind::kAssignment},
    {"-=", 0, "+=", Kind::kAssignment},
    {"*=", 0, "+=", Kind::kAssignment},
    {"/=", 0, "*=", Kind::kAssignment},
}};

bool is_type(std::string_view text) {
  static const Words words = rewrite::words_of(
      "int float double char short long unsigned signed bool auto const void size_t ptrdiff_t "
      "half");
  return words.contains(text) || text.starts_with("int") || text.starts_with("uint");
}

std::vector<std::string> split(const std::string& words) {
  std::vector<std::string> all(1);
  for (const char c : words) c == ' ' ? (void)all.emplace_back() : all.back().push_back(c);
  return all;
}

bool is_floating(const Variable& variable) {
  return variable.start.find('.') != std::string::npos;
}

/// A name with its members, "shape.out_height()".
struct Atom {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_array = false;
  bool is_number = false;
};

// The names and numbers of tokens [begin, end) that stand for values and arrays.
std::vector<Atom> atoms_in(const Source& source, std::size_t begin, std::size_t end) {
  std::vector<Atom> atoms;
  for (std::size_t i = begin; i < end;) {
    const Token& token = source[i];
    if (token.kind == Token::Kind::kNumber) {
      atoms.push_back({i, i + 1, false, true});
      ++i;
      continue;
    }
    if (token.kind != Token::Kind::kIdentifier) {
      ++i;
      continue;
    }
    const std::size_t first = i++;
    bool is_qualified = false;
    while (i + 1 < end && (source.is(i, ".") || source.is(i, "->") || source.is(i, "::")) &&
           source[i + 1].kind == Token::Kind::kIdentifier) {
      is_qualified |= source.is(i, "::");
      i += 2;
    }
    const bool is_member = i > first + 1 && !is_qualified;
    if (is_type(token.text) || token.text.ends_with("_cast") || token.is("std") ||
        rewrite::is_keyword(token.text)) {
      continue;
    }
    if (is_member && source.is(i, "(") && source.is(i + 1, ")") && i + 1 < end) {
      i += 2;
    } else if (source.is(i, "(") || (i < end && source[i].kind == Token::Kind::kIdentifier)) {
      continue;  // a call, or a type
    }
    atoms.push_back({first, i, source.is(i, "["), false});
  }
  return atoms;
}

struct Splice {
  std::size_t begin, end;
  std::string text;
};

// Without the blanks that splices leave.
std::string tidy(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

const char* words_of(Kind kind) {
  return std::ranges::find(kKindWords, kind, &KindWords::kind)->words;
}

/// One change of a site: its alternative, and the token where it begins.
struct EditableFile::Change {
  Kind kind;
  std::size_t token;
  std::string text;
};

/// What is known at a site and used by its function.
struct EditableFile::Names {
  std::set<std::string> values{};
  std::set<std::string> sizes{};     ///< the values that are no counters
  std::set<std::string> counters{};  ///< of loops and threads
  std::set<std::string> arrays{};
};

/// Makes the changes of one expression or statement.
class EditableFile::Expression {
 public:
  Expression(const Source& source, const Site& site, const Names& names)
      : source_(source), form_(site.form), begin_(site.begin), end_(site.end), names_(names) {
    if (site.form == Form::kStatement) --end_;
  }

  std::vector<Change> run() {
    change_names();
    read_all(begin_, end_);
    if (changes_.size() > kMostOfOne) changes_.resize(kMostOfOne);
    return std::move(changes_);
  }

  /// The text with all of one atom replaced, and the other way round if it is an exchange.
  static std::string everywhere(const Source& source, const Site& site, const std::string& from,
                                const std::string& to, bool exchange) {
    std::vector<Splice> splices;
    for (const Atom& atom : atoms_in(source, site.begin, site.end)) {
      const std::string text = source.text(atom.begin, atom.end);
      if (text == from) splices.push_back({atom.begin, atom.end, to});
      if (exchange && text == to) splices.push_back({atom.begin, atom.end, from});
    }
    return splices.empty() ? "" : spliced(source, site.begin, site.end, splices);
  }

 private:
  static constexpr std::size_t kMostOfOne = 1500;

  struct Operand {
    std::size_t begin, end;
  };

  static std::string spliced(const Source& source, std::size_t begin, std::size_t end,
                             const std::vector<Splice>& splices) {
    std::string text;
    std::size_t at = begin;
    const auto is_apart = [&](std::size_t token) {  // from the one before it
      return token > begin && token < end && source[token - 1].end() != source[token].offset;
    };
    const auto append = [&text](const std::string& more, bool apart) {
      const auto is_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      };
      const bool meet =
          !text.empty() && !more.empty() && is_word(text.back()) && is_word(more.front());
      text += (apart || meet ? " " : "") + more;
    };
    bool apart = false;
    for (const Splice& each : splices) {
      append(source.text(at, each.begin), apart);
      const bool is_bracket = each.begin == each.end;
      append(each.text, is_apart(each.begin) && each.text != ")");
      apart = is_apart(each.end) && !(is_bracket && each.text == "(");
      at = each.end;
    }
    append(source.text(at, end), apart);
    return text;
  }

  void add(Kind kind, const std::vector<Splice>& splices) {
    changes_.push_back({kind, splices.front().begin, spliced(source_, begin_, end_, splices)});
  }

  [[nodiscard]] std::string text(const Operand& operand) const {
    return source_.text(operand.begin, operand.end);
  }

  void change_names() {
    const std::vector<Atom> atoms = atoms_in(source_, begin_, end_);
    for (std::size_t a = 0; a < atoms.size(); ++a) {
      const Atom& atom = atoms[a];
      const std::string own = source_.text(atom.begin, atom.end);
      const auto may_be = [this, is_array = atom.is_array](const std::string& name) {
        return is_array ? names_.arrays.contains(name) : names_.values.contains(name);
      };
      // Not a whole number, as the sum; or the array that is written.
      if (!atom.is_number && !may_be(own)) continue;
      if (atom.is_array && atom.begin == begin_) continue;
      for (const std::string& name : atom.is_array ? names_.arrays : names_.values) {
        if (name != own) add(Kind::kName, {{atom.begin, atom.end, name}});
      }
      if (atom.is_number && own.find_first_not_of("0123456789") == std::string::npos &&
          own.size() < 8) {
        const int number = std::stoi(own);
        add(Kind::kNumber, {{atom.begin, atom.end, std::to_string(number + 1)}});
        if (number > 0) add(Kind::kNumber, {{atom.begin, atom.end, std::to_string(number - 1)}});
        if (number > 1) add(Kind::kNumber, {{atom.begin, atom.end, "0"}});
      } else if (atom.is_number && own.starts_with("1.0")) {
        add(Kind::kNumber, {{atom.begin, atom.end, "0.0f"}});
      }
      for (std::size_t b = a + 1; b < atoms.size(); ++b) {
        const Atom& other = atoms[b];
        const std::string second = source_.text(other.begin, other.end);
        if (second == own || other.is_array != atom.is_array || !may_be(second)) continue;
        add(Kind::kExchange, {{atom.begin, atom.end, second}, {other.begin, other.end, own}});
      }
    }
  }

  void read_all(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end;) i = std::max(read_level(i, end), i + 1);
  }

  // Operands and operators up to a comma or something else that separates.
  std::size_t read_level(std::size_t i, std::size_t end) {
    std::vector<Operand> operands;
    std::vector<std::pair<std::size_t, const Operator*>> operators;
    while (i < end) {
      const std::size_t begin = i;
      i = read_operand(i, end);
      if (i == begin) break;
      operands.push_back({begin, i});
      const Operator* found = operator_at(i, end);
      if (found == nullptr) break;
      operators.emplace_back(i, found);
      i += std::string_view(found->text).size();
    }
    if (operators.size() == operands.size() && !operators.empty()) operators.pop_back();
    change_level(operands, operators);
    return i;
  }

  [[nodiscard]] const Operator* operator_at(std::size_t i, std::size_t end) const {
    if (i >= end) return nullptr;
    std::string text(source_[i].text);
    const bool joined =
        i + 1 < end && source_[i].end() == source_[i + 1].offset &&
        source_[i + 1].text.size() == 1 &&
        std::string_view("=<>&|").find(source_[i + 1].text) != std::string_view::npos;
    if (joined) {
      const std::string both = text + std::string(source_[i + 1].text);
      for (const Operator& each : kOperators) {
        if (both == each.text) return &each;
      }
    }
    for (const Operator& each : kOperators) {
      if (text == each.text) return &each;
    }
    return nullptr;
  }

  std::size_t read_operand(std::size_t i, std::size_t end) {
    while (i < end && (source_.is(i, "-") || source_.is(i, "!") || source_.is(i, "+") ||
                       source_.is(i, "*") || source_.is(i, "&") || source_.is(i, "~"))) {
      ++i;
    }
    if (i >= end) return i;
    if (source_.is(i, "(") && source_.opens(i)) {
      const std::size_t close = source_.partner(i);
      const bool is_cast = is_type(source_[i + 1].text) || source_.is(i + 1, "std");
      if (is_cast) return read_operand(close + 1, end);
      read_all(i + 1, close);
      return read_behind(close + 1, end);
    }
    if (source_[i].kind == Token::Kind::kIdentifier) {
      ++i;
      while (source_.is(i, "::") && i + 1 < end) i += 2;
      if (source_[i - 1].text.ends_with("_cast") && source_.is(i, "<")) {
        while (i < end && !source_.is(i, ">")) ++i;
        ++i;
      }
      return read_behind(i, end);
    }
    if (source_[i].kind != Token::Kind::kPunctuation) return i + 1;
    return i;
  }

  std::size_t read_behind(std::size_t i, std::size_t end) {
    while (i < end) {
      if ((source_.is(i, "(") || source_.is(i, "[")) && source_.opens(i)) {
        read_all(i + 1, source_.partner(i));
        i = source_.partner(i) + 1;
      } else if ((source_.is(i, ".") || source_.is(i, "->")) && i + 1 < end) {
        i += 2;
      } else if ((source_.is(i, "+") || source_.is(i, "-")) && source_.is(i + 1, source_[i].text) &&
                 i + 1 < end && source_[i].end() == source_[i + 1].offset) {
        i += 2;
      } else {
        break;
      }
    }
    return std::min(i, end);
  }

  void change_level(const std::vector<Operand>& operands,
                    const std::vector<std::pair<std::size_t, const Operator*>>& operators) {
    for (std::size_t k = 0; k < operators.size(); ++k) {
      const auto& [token, own] = operators[k];
      const std::size_t behind = token + std::string_view(own->text).size();
      for (const std::string& other : split(own->others)) {
        add(own->kind, {{token, behind, other}});
      }
      const bool is_product = own->strength == 9;
      if (own->strength > 0) {
        const Kind kind = is_product ? Kind::kFactorRemoved : Kind::kTermRemoved;
        add(kind, {{token, operands[k + 1].end, ""}});
        add(kind, {{operands[k].begin, behind, ""}});
      }
    }
    change_groups(operands, operators);
    // A plain value has names only, and the left side of a comparison is no bound.
    const bool is_comparison =
        !operators.empty() && operators.front().second->kind == Kind::kComparison;
    if (operators.empty() && form_ != Form::kStatement) return;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool assigns = k == 0 && !operators.empty() && operators.front().second->strength == 0;
      const bool is_text = source_[operands[k].begin].kind == Token::Kind::kString;
      if (assigns || is_text) continue;
      change_operand(operands[k], is_comparison, is_comparison && k == 0);
    }
  }

  void change_operand(const Operand& operand, bool is_bound, bool is_left) {
    const std::string own = text(operand);
    const bool is_number =
        operand.end == operand.begin + 1 && source_[operand.begin].kind == Token::Kind::kNumber;
    const auto becomes = [&](Kind kind, const std::string& text) {
      add(kind, {{operand.begin, operand.end, text}});
    };
    if (!is_number && !is_left) {
      becomes(Kind::kOneMore, "(" + own + " + 1)");
      becomes(Kind::kOneMore, "(" + own + " - 1)");
    }
    for (const std::string& name : names_.sizes) {
      if (!(is_bound && is_left)) becomes(Kind::kFactorAdded, own + " * " + name);
      if (form_ == Form::kStatement || is_left || name == own) continue;
      becomes(Kind::kTermAdded, "(" + own + " - " + name + ")");
      if (!is_number) becomes(Kind::kFactorAdded, "(" + own + ") / " + name);
    }
    if (is_bound && !is_left) return;
    for (const std::string& name : names_.counters) {
      if (name != own) becomes(Kind::kTermAdded, "(" + own + " + " + name + ")");
    }
  }

  // Parentheses around a part, and around what an operand already has in some.
  void change_groups(const std::vector<Operand>& operands,
                     const std::vector<std::pair<std::size_t, const Operator*>>& operators) {
    const auto strength = [&](std::size_t k) { return operators[k].second->strength; };
    for (std::size_t a = 0; a < operators.size(); ++a) {
      if (strength(a) == 0) continue;
      for (std::size_t b = a; b < operators.size(); ++b) {
        if (strength(b) == 0 || (a == 0 && b + 1 == operators.size())) continue;
        int weakest = strength(a);
        for (std::size_t k = a; k <= b; ++k) weakest = std::min(weakest, strength(k));
        const bool before = a > 0 && strength(a - 1) >= weakest && strength(a - 1) > 0;
        const bool after = b + 1 < operators.size() && strength(b + 1) > weakest;
        if (!before && !after) continue;
        add(Kind::kParentheses, {{operands[a].begin, operands[a].begin, "("},
                                 {operands[b + 1].end, operands[b + 1].end, ")"}});
      }
    }
    if (operators.empty()) return;
    for (const Operand& each : operands) {
      if (!source_.is(each.begin, "(") || source_.partner(each.begin) + 1 != each.end) continue;
      add(Kind::kParentheses, {{each.begin, each.begin + 1, ""}, {each.end - 1, each.end, ""}});
    }
  }

  const Source& source_;
  Form form_;
  std::size_t begin_;
  std::size_t end_;
  const Names& names_;
  std::vector<Change> changes_;
};

EditableFile::EditableFile(const std::string& text)
    : text_(text), source_(text_), outline_(outline_of(source_)) {
  alternatives_.resize(outline_.sites.size());
  dropped_sites_.resize(outline_.sites.size());
  for (std::size_t s = 0; s < outline_.sites.size(); ++s) {
    names_.push_back(names_at(outline_.sites[s]).values);
    find_changes(s, names_at(outline_.sites[s]));
  }
  add_everywhere();
}

std::size_t EditableFile::add(std::size_t site, std::string text) {
  const Site& where = outline_.sites[site];
  auto& own = alternatives_[site];
  if (where.end > where.begin && text == source_.text(where.begin, where.end)) return 0;
  const auto found = std::ranges::find(own, text, &Alternative::text);
  if (found != own.end()) return static_cast<std::size_t>(found - own.begin()) + 1;
  own.push_back({std::move(text)});
  return own.size();
}

EditableFile::Names EditableFile::names_at(const Site& site) const {
  Names names;
  const auto is_known = [&](const Variable& each) {
    return each.begin < site.begin && site.begin < each.end;
  };
  const std::size_t end = source_.partner(site.function);
  // A variable of another scope has no value here; a name that no function declares has.
  const auto has_value = [&](const std::string& root) {
    bool is_declared = false;
    for (const Variable& each : outline_.variables) {
      if (each.name != root) continue;
      if (is_known(each)) return true;
      is_declared |= each.begin >= site.function && each.begin < end;
    }
    return !is_declared;
  };
  static const std::vector<std::string> members =
      split("batch out_channels in_channels height width kernel stride out_height() out_width()");
  std::set<std::string> structures;
  for (const Site& each : outline_.sites) {
    if (each.function != site.function) continue;
    for (const Atom& atom : atoms_in(source_, each.begin, each.end)) {
      const std::string root(source_[atom.begin].text);
      if (atom.is_number || !has_value(root)) continue;
      if (atom.end > atom.begin + 1) structures.insert(root);
      const std::string text = source_.text(atom.begin, atom.end);
      (atom.is_array ? names.arrays : names.values).insert(text);
      if (atom.end < atom.begin + 3 || !source_.is(atom.begin + 1, ".")) continue;
      const std::string member = source_.text(atom.begin + 2, atom.end);
      if (std::ranges::find(members, member) == members.end()) continue;
      for (const std::string& other : members) names.values.insert(root + "." + other);
    }
  }
  for (const Variable& each : outline_.variables) {
    if (is_known(each)) names.values.insert(each.name);
  }
  for (const Variable& each : outline_.variables) {
    if (!is_known(each)) continue;
    names.values.erase(each.alias);
    if (is_floating(each)) names.values.erase(each.name);
    if (each.is_counter && names.values.contains(each.name)) names.counters.insert(each.name);
  }
  if (site.form == Form::kStep && !source_.has(site.begin, site.end, {"="})) {
    names.values = names.counters;  // others may be constant
  }
  for (const std::string& each : names.arrays) names.values.erase(each);
  for (const std::string& each : structures) names.values.erase(each);
  std::ranges::set_difference(names.values, names.counters,
                              std::inserter(names.sizes, names.sizes.end()));
  return names;
}

// Whether the variables that a statement uses are known at another place.
bool EditableFile::knows_all_of(const Site& site, std::size_t place) const {
  return std::ranges::all_of(outline_.variables, [&](const Variable& each) {
    const bool is_used = each.begin < site.begin && site.begin < each.end &&
                         source_.has(site.begin, site.end, {each.name});
    return !is_used || (each.begin < place && place < each.end);
  });
}

void EditableFile::find_changes(std::size_t s, const Names& names) {
  const Site& site = outline_.sites[s];
  const std::string own = source_.text(site.begin, site.end);
  const bool ends = site.form == Form::kStatement;
  std::set<std::size_t> seen;
  const auto add_edit = [&](Kind kind, std::size_t token, const std::string& text,
                            std::vector<std::pair<std::size_t, std::size_t>> further = {}) {
    const std::size_t alternative = add(s, text);
    if (alternative == 0 || (further.empty() && !seen.insert(alternative).second)) return;
    Edit edit{.lines = {source_[token].line}, .kind = kind, .before = tidy(own)};
    edit.after = tidy(text);
    edit.choices = {{s, alternative}};
    for (const auto& [place, moved] : further) {
      edit.lines.insert(source_[outline_.sites[place].begin].line);
      edit.choices.emplace_back(place, moved);
    }
    edits_.push_back(std::move(edit));
  };
  if (site.form == Form::kPlace) {
    if (!site.begins_loop) return;
    for (const Variable& each : outline_.variables) {
      const bool known = each.begin < site.begin && site.begin < each.end;
      if (!known || each.start.empty() || each.begin < site.function) continue;
      add_edit(Kind::kAdded, site.begin - 1, each.name + " = " + each.start + ";");
    }
    return;
  }
  if (site.form == Form::kJump) return add_edit(Kind::kDeleted, site.begin, "");
  for (Change& change : Expression(source_, site, names).run()) {
    add_edit(change.kind, change.token, change.text + (ends ? ";" : ""));
  }
  if (site.form == Form::kCondition) {
    add_edit(Kind::kCondition, site.begin, "false");
    if (!site.is_loop) add_edit(Kind::kCondition, site.begin, "true");
  }
  if (!ends) return;
  add_edit(Kind::kDeleted, site.begin, "");
  for (const std::size_t place : site.places) {
    if (!knows_all_of(site, outline_.sites[place].begin)) continue;
    add_edit(Kind::kMoved, site.begin, "", {{place, add(place, own)}});
  }
}

void EditableFile::add_everywhere() {
  std::map<std::size_t, std::vector<std::size_t>> functions;
  for (std::size_t s = 0; s < outline_.sites.size(); ++s) {
    const Form form = outline_.sites[s].form;
    if (form != Form::kPlace && form != Form::kJump)
      functions[outline_.sites[s].function].push_back(s);
  }
  for (const auto& [function, sites] : functions) {
    std::map<std::string, bool> used;  // whether it is a number
    for (const std::size_t s : sites) {
      for (const Atom& atom : atoms_in(source_, outline_.sites[s].begin, outline_.sites[s].end)) {
        if (!atom.is_array) used[source_.text(atom.begin, atom.end)] = atom.is_number;
      }
    }
    for (const auto& [from, from_number] : used) {
      for (const auto& [to, to_number] : used) {
        for (const bool exchange : {false, true}) {
          if (from == to || to_number || (exchange && (from_number || to < from))) continue;
          Edit edit{.kind = exchange ? Kind::kExchange : Kind::kName, .before = from, .after = to};
          for (const std::size_t s : sites) {
            const std::string text =
                Expression::everywhere(source_, outline_.sites[s], from, to, exchange);
            if (text.empty()) continue;
            const bool is_known =
                names_[s].contains(to) && (from_number || names_[s].contains(from));
            const std::size_t alternative = is_known ? add(s, text) : 0;
            if (alternative == 0) {
              edit.choices.clear();
              break;
            }
            edit.choices.emplace_back(s, alternative);
            edit.lines.insert(source_[outline_.sites[s].begin].line);
          }
          if (edit.choices.size() > 1) edits_.push_back(std::move(edit));
        }
      }
    }
  }
}

std::vector<Edit> EditableFile::edits() const {
  std::vector<Edit> left;
  for (const Edit& edit : edits_) {
    const bool is_whole = std::ranges::all_of(edit.choices, [&](const auto& choice) {
      const auto& [site, alternative] = choice;
      return !dropped_sites_[site] && !alternatives_[site][alternative - 1].dropped;
    });
    if (is_whole) left.push_back(edit);
  }
  return left;
}

void EditableFile::write_site(std::size_t s, std::string& out) {
  const Site& site = outline_.sites[s];
  const std::string own = text_.substr(
      source_[site.begin].offset,
      site.begin == site.end ? 0 : source_[site.end - 1].end() - source_[site.begin].offset);
  const auto& all = alternatives_[s];
  const bool has_any = std::ranges::any_of(all, [](const auto& each) { return !each.dropped; });
  if (dropped_sites_[s] || (!has_any && !site.is_loop)) {
    out += own;
    return;
  }
  const std::string chosen = "::convlab::mend::chosen[" + std::to_string(s) + "]";
  const auto write_line = [&](std::size_t alternative, const std::string& text) {
    owner_ = {s, alternative};
    end_line(text, out);
  };
  end_line("", out);
  if (site.form == Form::kJump) {
    write_line(1, "if (" + chosen + " == 0) {" + own + "}");
    return;
  }
  if (site.form == Form::kPlace) {
    for (std::size_t a = 0; a < all.size(); ++a) {
      if (all[a].dropped) continue;
      write_line(a + 1,
                 "if (" + chosen + " == " + std::to_string(a + 1) + ") {" + all[a].text + "}");
    }
    return;
  }
  const bool is_value = site.form == Form::kValue;
  const bool is_condition = site.form == Form::kCondition;
  std::string open = "switch (" + chosen + ") {";
  if (is_value)
    open = "[&]() -> ::convlab::mend::Of<decltype(" + source_.text(site.begin, site.end) + ")> {" +
           open;
  if (is_condition) open = "[&]() -> bool {::convlab::mend::step(); " + open;
  if (site.form == Form::kStep) open = "[&]() {" + open;
  write_line(0, open);
  const std::string before = is_value || is_condition ? "return (" : "{";
  const std::string after = is_value || is_condition ? ");" : ";} break;";
  for (std::size_t a = 0; a < all.size(); ++a) {
    if (all[a].dropped) continue;
    write_line(a + 1, "case " + std::to_string(a + 1) + ": " + before + all[a].text + after);
  }
  const std::string close = site.form == Form::kStatement ? "}" : "}}()";
  const std::string last = "default: " + before + own + after + close;
  owner_ = {s, 0};
  copy(last, out);
}

void EditableFile::end_line(const std::string& text, std::string& out) {
  out += text + "\n";
  lines_.push_back(owner_);
  owner_ = {alternatives_.size(), 0};
}

void EditableFile::copy(std::string_view text, std::string& out) {
  for (const char c : text) c == '\n' ? end_line("", out) : out.push_back(c);
}

std::string EditableFile::text() {
  // In front of what comes later in the file; a place comes before what begins at its token.
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < outline_.sites.size(); ++s) order.push_back(s);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Site& first = outline_.sites[a];
    const Site& second = outline_.sites[b];
    return std::pair(first.begin, first.end) < std::pair(second.begin, second.end);
  });
  lines_.clear();
  owner_ = {alternatives_.size(), 0};
  std::string out;
  end_line("#include \"common/custom_submission/mendable.hpp\"", out);
  std::size_t at = 0;
  const auto copy_to = [&](std::size_t offset) {
    if (offset > at) copy(std::string_view(text_).substr(at, offset - at), out), at = offset;
  };
  for (const std::size_t s : order) {
    const Site& site = outline_.sites[s];
    copy_to(site.begin < source_.size() ? source_[site.begin].offset : text_.size());
    write_site(s, out);
    if (site.end > site.begin) at = source_[site.end - 1].end();
  }
  copy_to(text_.size());
  end_line("", out);
  return out;
}

bool EditableFile::drop_lines(const std::set<std::size_t>& lines) {
  bool dropped = false;
  for (const std::size_t line : lines) {
    if (line == 0 || line > lines_.size()) continue;
    const auto& [site, alternative] = lines_[line - 1];
    if (site >= alternatives_.size()) continue;
    dropped = true;
    if (alternative == 0) {
      dropped_sites_[site] = true;
    } else {
      alternatives_[site][alternative - 1].dropped = true;
    }
  }
  return dropped;
}

}  // namespace convlab::grader::mend
