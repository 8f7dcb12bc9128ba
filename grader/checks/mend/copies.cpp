#include "grader/checks/mend/copies.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

namespace {

using rewrite::Source;
using rewrite::Token;

// A word of a type, and what may stand instead of it.
struct TypeChange {
  const char* from;
  const char* to;
  Kind kind;
};
constexpr std::array kTypeChanges = {
    TypeChange{"static", "", Kind::kWord},      TypeChange{"__shared__", "", Kind::kWord},
    TypeChange{"short", "int", Kind::kType},    TypeChange{"char", "int", Kind::kType},
    TypeChange{"int8_t", "int", Kind::kType},   TypeChange{"uint8_t", "int", Kind::kType},
    TypeChange{"int16_t", "int", Kind::kType},  TypeChange{"uint16_t", "int", Kind::kType},
    TypeChange{"bool", "float", Kind::kType},   TypeChange{"half", "float", Kind::kType},
    TypeChange{"__half", "float", Kind::kType}, TypeChange{"unsigned", "int", Kind::kType},
    TypeChange{"size_t", "int", Kind::kType},
};

class CopyFinder {
 public:
  CopyFinder(const Source& source, const Outline& outline) : source_(source), outline_(outline) {}

  std::vector<CopyChange> run(std::size_t most) {
    find_constants();
    for (std::size_t i = 0; i < source_.size(); ++i) {
      change_array(i);
      change_type(i);
      change_pragma(i);
      change_capture(i);
      change_return(i);
      change_macro(i);
    }
    for (std::size_t s = 0; s < outline_.statements.size(); ++s) {
      add_start(outline_.statements[s]);
      move(s);
      take_in(s);
      repeat(outline_.statements[s]);
    }
    exchange_parameters();
    // In turns of each kind, so that one that is frequent does not take all copies.
    std::vector<CopyChange> chosen;
    for (std::size_t turn = 0; chosen.size() < most; ++turn) {
      const std::size_t before = chosen.size();
      for (auto& [kind, all] : changes_) {
        if (turn < all.size() && chosen.size() < most) chosen.push_back(all[turn]);
      }
      if (chosen.size() == before) break;
    }
    return chosen;
  }

 private:
  static constexpr std::size_t kMostOfConstant = 12;
  inline static const std::string kFirst = "convlab_mend_";

  [[nodiscard]] bool is(std::size_t i, std::string_view text) const { return source_.is(i, text); }
  [[nodiscard]] bool is_name(std::size_t i) const {
    return i < source_.size() && source_[i].kind == Token::Kind::kIdentifier &&
           !rewrite::is_keyword(source_[i].text);
  }

  // The first token in [i, end) outside of inner brackets with this text, or end.
  [[nodiscard]] std::size_t find(std::size_t i, std::size_t end, std::string_view text) const {
    while (i < end && !is(i, text)) i = source_.opens(i) ? source_.partner(i) + 1 : i + 1;
    return std::min(i, end);
  }

  void add(Kind kind, std::vector<Splice> splices, std::size_t moved_to = 0) {
    changes_[kind].push_back({kind, std::move(splices), moved_to});
  }

  // #define T 16, constexpr int kT = 16: what is a constant, and the tokens of its value.
  void find_constants() {
    struct Constant {
      std::size_t name, begin, end;
    };
    std::vector<Constant> constants;
    Names names;
    for (std::size_t i = 1; i + 1 < source_.size(); ++i) {
      std::size_t begin = 0;
      std::size_t end = 0;
      if (is(i - 1, "define") && source_[i].directive != 0 &&
          source_[i].end() != source_[i + 1].offset) {
        begin = end = i + 1;
        while (end < source_.size() && source_[end].directive == source_[i].directive) ++end;
      } else if (is_name(i) && is(i + 1, "=") && !source_.in_parentheses(i)) {
        std::size_t first = i;
        while (first > 0 && (is_name(first - 1) || is_type(source_[first - 1].text))) --first;
        if (!source_.has(first, i, {"const", "constexpr"})) continue;
        begin = end = i + 2;
        while (end < source_.size() && !is(end, ";") && !is(end, ",")) ++end;
      }
      const bool is_constant = begin < end && consists_of(names.values, begin, end);
      if (!is_constant) continue;
      names.values.emplace(source_[i].text);
      constants.push_back({i, begin, end});
    }
    names.sizes = names.values;
    for (const Constant& each : constants) {
      const Site site{.form = Site::Form::kValue, .begin = each.begin, .end = each.end};
      Names known = names;
      known.values.erase(std::string(source_[each.name].text));
      known.sizes = known.values;
      std::vector<std::string> values;
      for (const Change& change : changes_of(source_, site, known)) values.push_back(change.text);
      const std::string own = source_.text(each.begin, each.end);
      values.insert(
          values.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, values.size())),
          {"((" + own + ") * 2)", "((" + own + ") / 2)"});
      values.resize(std::min(values.size(), kMostOfConstant));
      for (const std::string& value : values) add(Kind::kNumber, {{each.begin, each.end, value}});
    }
  }

  [[nodiscard]] bool consists_of(const std::set<std::string>& names, std::size_t begin,
                                 std::size_t end) const {
    bool has_value = false;
    for (std::size_t i = begin; i < end; ++i) {
      const Token& token = source_[i];
      const bool is_value =
          token.kind == Token::Kind::kNumber || names.contains(std::string(token.text));
      has_value |= is_value;
      if (!is_value && token.kind != Token::Kind::kPunctuation) return false;
      if (token.is("{") || token.is("[") || token.is(";")) return false;
    }
    return has_value;
  }

  // The name of an array that is declared, with its sizes behind it.
  void change_array(std::size_t name) {
    if (!is_name(name) || !is(name + 1, "[") || name == 0) return;
    const bool declares =
        (is_name(name - 1) || is_type(source_[name - 1].text)) && !is(name - 1, "else");
    if (!declares) return;
    std::vector<Splice> all;
    for (std::size_t open = name + 1; is(open, "[") && source_.opens(open);
         open = source_.partner(open) + 1) {
      const std::size_t close = source_.partner(open);
      if (close == open + 1) return;  // its size is given elsewhere
      all.push_back({open + 1, close, "4 * (" + source_.text(open + 1, close) + ")"});
    }
    add(Kind::kSize, all);
    for (const Splice& each : all) {
      if (all.size() > 1) add(Kind::kSize, {each});
      add(Kind::kSize,
          {{each.begin, each.end, "(" + source_.text(each.begin, each.end) + ") + 1"}});
    }
    if (all.size() == 1) add(Kind::kSize, {{all[0].begin, all[0].end, "4 * " + all[0].text}});
  }

  void change_type(std::size_t i) {
    if (source_[i].directive != 0 || i + 1 >= source_.size()) return;
    const auto found = std::ranges::find_if(
        kTypeChanges, [&](const TypeChange& each) { return is(i, each.from); });
    const bool is_whole = !is(i, "unsigned") || is_name(i + 1);
    const bool is_used = source_.scope(i) == rewrite::Scope::kFunction || source_.in_parentheses(i);
    if (found != kTypeChanges.end() && is_used && is_whole && !is(i - 1, "::") &&
        !is(i - 1, "extern"))
      add(found->kind, {{i, i + 1, found->to}});
    // A sum that is a whole number; an array that each thread has for itself.
    const bool begins = is_name(i + 1) && (is(i + 2, "=") || is(i + 2, ";") || is(i + 2, "["));
    if (!begins || source_.in_parentheses(i) || is(i - 1, "const") || is(i - 1, "*")) return;
    const bool begins_with_number =
        is(i + 2, ";") || (is(i + 4, ";") && source_[i + 3].kind == Token::Kind::kNumber);
    const bool in_function = source_.scope(i) == rewrite::Scope::kFunction;
    const bool is_whole_number = is(i, "int") || is(i, "auto");
    if (is_whole_number && begins_with_number && in_function)
      add(Kind::kType, {{i, i + 1, "float"}});
    // An index that is a float.
    if (is(i, "float") && !begins_with_number && in_function && !is(i + 2, "["))
      add(Kind::kType, {{i, i + 1, "int"}});
    if (is(i, "float") && is(i + 2, "[") && source_.in_device_code(i) && !is(i - 1, "__shared__"))
      add(Kind::kWord, {{i, i, "__shared__ "}});
  }

  // A lambda that takes all by reference or by value; or of all by reference one by value, as a
  // counter that goes on.
  void change_capture(std::size_t i) {
    const bool begins = is(i, "[") && source_.opens(i) && (is(i + 1, "&") || is(i + 1, "=")) &&
                        (is(i + 2, "]") || is(i + 2, ",")) &&
                        (is(source_.partner(i) + 1, "(") || is(source_.partner(i) + 1, "{"));
    if (!begins) return;
    add(Kind::kCapture, {{i + 1, source_.partner(i), is(i + 1, "&") ? "=" : "&"}});
    if (!is(i + 1, "&")) return;
    for (const Variable& each : outline_.variables) {
      const bool is_known = each.begin < i && i < each.end && each.is_counter;
      if (is_known && source_.has(i, block_end(i), {each.name}))
        add(Kind::kCapture, {{i + 2, i + 2, ", " + each.name}});
    }
  }

  [[nodiscard]] std::size_t block_end(std::size_t i) const {
    while (i < source_.size() && !(is(i, "{") && source_.opens(i))) ++i;
    return i < source_.size() ? source_.partner(i) : i;
  }

  // #define AT(a, b, n) a * n + b: with parentheses around each parameter and around all.
  void change_macro(std::size_t i) {
    if (!is(i, "define") || source_[i].directive == 0 || !is(i + 2, "(") || !source_.opens(i + 2))
      return;
    const std::size_t begin = source_.partner(i + 2) + 1;
    std::size_t end = begin;
    while (end < source_.size() && source_[end].directive == source_[i].directive) ++end;
    std::vector<Splice> splices;
    for (std::size_t at = begin; at < end; ++at) {
      std::string text(source_[at].text);
      const bool is_parameter = is_name(at) && source_.has(i + 2, begin, {text});
      if (is_parameter) text = "(" + text + ")";
      if (at == begin) text = " (" + text;
      if (at + 1 == end) text += ")";
      if (is_parameter || at == begin || at + 1 == end) splices.push_back({at, at + 1, text});
    }
    if (begin < end) add(Kind::kParentheses, std::move(splices));
  }

  // A function that gives a float as a whole number, or gets a number that it should change.
  void change_return(std::size_t i) {
    if (source_.scope(i) == rewrite::Scope::kFunction || source_[i].directive != 0) return;
    const bool is_function = is_name(i + 1) && is(i + 2, "(") && source_.opens(i + 2);
    if (is(i, "int") && is_function) add(Kind::kType, {{i, i + 1, "float"}});
    const bool is_parameter = is(i, "float") && is_name(i + 1) && source_.in_parentheses(i) &&
                              (is(i + 2, ",") || is(i + 2, ")")) && !is(i - 1, "const");
    if (is_parameter) add(Kind::kType, {{i, i + 1, "float&"}});
    const bool is_vector = is(i, ">") && is_name(i + 1) && source_.in_parentheses(i) &&
                           (is(i + 2, ",") || is(i + 2, ")"));
    if (is_vector) add(Kind::kType, {{i, i + 1, ">&"}});
  }

  // Without a line for OpenMP, without one of its clauses, or with one loop less.
  void change_pragma(std::size_t i) {
    if (!is(i, "#") || !is(i + 1, "pragma") || !is(i + 2, "omp")) return;
    const int directive = source_[i].directive;
    std::size_t end = i;
    for (; end < source_.size() && source_[end].directive == directive; ++end) {
      if (!source_.opens(end)) continue;
      const std::size_t close = source_.partner(end);
      if (close < source_.size() && source_[close].directive == directive)
        add(Kind::kPragma, {{end - 1, close + 1, ""}});
    }
    add(Kind::kPragma, {{i, end, ""}});
  }

  // float sum; float sums[4];
  void add_start(const Statement& statement) {
    if (!statement.declares || source_[statement.begin].directive != 0) return;
    if (source_.has(statement.begin, statement.end, {"__shared__", "extern", "=", "{", "("}))
      return;
    for (std::size_t i = statement.begin + 1; i < statement.end; ++i) {
      if (source_.opens(i)) i = source_.partner(i);
      if (is(i + 1, ",") || is(i + 1, ";")) add(Kind::kStart, {{i + 1, i + 1, " = {}"}});
    }
  }

  [[nodiscard]] std::string own_text(const Statement& each) const {
    return " " + source_.text(each.begin, each.end) + " ";
  }

  // Whether the variables that a statement uses are known at another place.
  [[nodiscard]] bool knows_all_of(const Statement& moved, std::size_t to) const {
    return std::ranges::all_of(outline_.variables, [&](const Variable& each) {
      const bool is_used = each.begin < moved.begin && moved.begin < each.end &&
                           source_.has(moved.begin, moved.end, {each.name});
      return !is_used || (each.begin < to && to < each.end);
    });
  }

  void add_move(const Statement& moved, std::size_t to) {
    // A directive, such as #pragma unroll, needs a line of its own.
    for (std::size_t i = moved.begin; i < moved.end; ++i) {
      if (source_[i].directive != 0) return;
    }
    if (!knows_all_of(moved, to)) return;
    std::vector<Splice> splices = {{moved.begin, moved.end, ""}, {to, to, own_text(moved)}};
    std::ranges::sort(splices, {}, &Splice::begin);
    add(Kind::kMoved, std::move(splices), to);
  }

  // A declaration or a block leaves the loops around it, or goes into the block beside it. Single
  // statements move without a copy.
  void move(std::size_t own) {
    const Statement& statement = outline_.statements[own];
    const bool is_compound = is(statement.end - 1, "}") || statement.is_loop;
    if (statement.is_block || (!statement.declares && !is_compound)) return;
    const auto block = statement.parent;
    if (block != Statement::kNone && !outline_.statements[block].is_block) return;
    for (auto up = block; up != Statement::kNone; up = outline_.statements[up].parent) {
      if (outline_.statements[up].is_loop) add_move(statement, outline_.statements[up].begin);
    }
    for (std::size_t other = 0; other < outline_.statements.size(); ++other) {
      const Statement& beside = outline_.statements[other];
      const bool touches =
          (is_compound && beside.end == statement.begin) || beside.begin == statement.end;
      if (!touches || beside.parent != block || !beside.is_loop || !is(beside.end - 1, "}"))
        continue;
      // What a loop declares is not known behind it.
      const bool is_used_later = std::ranges::any_of(outline_.variables, [&](const Variable& each) {
        return each.begin > statement.begin && each.begin <= statement.end &&
               source_.has(beside.end, std::max(beside.end, each.end), {each.name});
      });
      if (statement.declares && is_used_later) continue;
      const std::size_t open = source_.partner(beside.end - 1);
      if (open < beside.end) {
        add_move(statement, open + 1);
        if (is_compound) add_move(statement, beside.end - 1);
      }
    }
  }

  // How far a value that is made of a thread's number is from that of the next pass: of all threads
  // of its block, and of all blocks if it counts them. Empty if it is not made of one.
  [[nodiscard]] std::string step_of(std::size_t name) const {
    const auto known = std::ranges::find_if(outline_.variables, [&](const Variable& each) {
      return is(name, each.name) && each.begin <= name && name < each.end &&
             each.alias.find("threadIdx") != std::string::npos;
    });
    if (known == outline_.variables.end()) return {};
    std::string step;
    for (const std::string axis : {"x", "y", "z"}) {
      for (const auto& [counts, size] :
           {std::pair("threadIdx.", "blockDim."), std::pair("blockIdx.", "gridDim.")}) {
        if (known->alias.find(counts + axis) == std::string::npos) continue;
        step += (step.empty() ? "" : " * ") + (size + axis);
      }
    }
    return step;
  }

  // [begin, end): the loops that stand for comparisons of threads with sizes, and what keeps the
  // first values of their counters.
  [[nodiscard]] std::string loops_of(std::size_t begin, std::size_t end, bool leaves,
                                     std::string& firsts) const {
    std::string loops;
    for (std::size_t at = begin; at < end;) {
      const std::size_t stop = find(at, end, leaves ? "|" : "&");
      const std::size_t bound = at + (leaves ? 3 : 2);
      const bool compares = leaves ? is(at + 1, ">") && is(at + 2, "=") : is(at + 1, "<");
      const std::string step = is_name(at) && compares ? step_of(at) : "";
      if (step.empty() || is(bound, "=")) return {};
      const std::string own(source_[at].text);
      firsts += (firsts.empty() ? "const int " : ", ") + (kFirst + own) + " = " + own;
      loops += "for (int " + own + " = " + kFirst + own + "; " + own + " < " +
               source_.text(bound, stop) + "; " + own + " += " + step + ") ";
      at = stop + 2;
    }
    return loops;
  }

  // if (thread < n) …; or if (thread >= n) return; where there are more elements than threads.
  void repeat(const Statement& statement) {
    const std::size_t begin = statement.begin;
    if (!is(begin, "if") || !source_.opens(begin + 1)) return;
    const std::size_t close = source_.partner(begin + 1);
    if (source_.has(close, statement.end, {"else"})) return;
    for (std::size_t i = close; i + 2 < statement.end; ++i) {
      const bool goes_on =
          (is(i + 1, "+") || is(i + 1, "-")) && (is(i + 2, "=") || is(i + 2, source_[i + 1].text));
      if (!goes_on || !is_name(i) || !source_.has(begin + 2, close, {source_[i].text})) continue;
      return add(Kind::kRepeated, {{begin, begin + 1, "while"}});
    }
    const bool leaves = source_.has(close, std::min(close + 3, statement.end), {"return"});
    std::string firsts;
    const std::string loops = loops_of(begin + 2, close, leaves, firsts);
    if (loops.empty()) return;
    const std::size_t behind = leaves ? statement.end : close + 1;
    const std::string head = "if (" + firsts + "; true) " + loops;
    std::vector<Splice> splices = {{begin, behind, head + (leaves ? "{ " : "")}};
    const std::size_t last = find(behind, source_.size(), "}");
    if (leaves) splices.push_back({last, last, " }"});
    add(Kind::kRepeated, std::move(splices));
    changes_[Kind::kRepeated].back().told = loops;
  }

  // for (…) one; two; becomes for (…) { one; two; }
  void take_in(std::size_t own) {
    const Statement& inner = outline_.statements[own];
    if (inner.is_block || inner.parent == Statement::kNone) return;
    const Statement& head = outline_.statements[inner.parent];
    if (head.is_block || inner.end != head.end) return;
    for (const Statement& next : outline_.statements) {
      if (next.begin != head.end || next.is_block || next.parent != head.parent ||
          !is(next.end - 1, ";"))
        continue;
      add(Kind::kMoved, {{inner.begin, inner.begin, "{ "}, {next.end - 1, next.end, "; }"}});
    }
  }

  // Of parameters of one type, two that stand beside each other.
  void exchange_parameters() {
    std::set<std::size_t> bodies;
    for (const Site& each : outline_.sites) bodies.insert(each.function);
    for (const std::size_t body : bodies) {
      if (!is(body, "{") || body == 0 || !is(body - 1, ")")) continue;
      std::size_t before = 0;  // a name
      std::size_t begin = source_.partner(body - 1) + 1;
      std::string type;
      for (std::size_t i = begin; i < body; ++i) {
        if (!is(i, ",") && i + 1 < body) continue;
        if (!is_name(i - 1)) break;
        const std::string own = source_.text(begin, i - 1);
        if (before != 0 && own == type) {
          add(Kind::kExchange, {{before, before + 1, std::string(source_[i - 1].text)},
                                {i - 1, i, std::string(source_[before].text)}});
        }
        before = i - 1;
        type = own;
        begin = i + 1;
      }
    }
  }

  const Source& source_;
  const Outline& outline_;
  std::map<Kind, std::vector<CopyChange>> changes_;
};

}  // namespace

std::vector<CopyChange> copy_changes_of(const Source& source, const Outline& outline,
                                        std::size_t most) {
  return CopyFinder(source, outline).run(most);
}

}  // namespace convlab::grader::mend
