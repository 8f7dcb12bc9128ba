#include "grader/checks/mend/expression.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "grader/checks/mend/operators.hpp"
#include "grader/checks/mend/wholes.hpp"

namespace convlab::grader::mend {

namespace {

using rewrite::Source;
using rewrite::Token;
using Form = Site::Form;

/// Makes the changes of one expression or statement.
class Expression {
 public:
  Expression(const Source& source, const Site& site, const Names& names)
      : source_(source), form_(site.form), begin_(site.begin), end_(site.end), names_(names) {
    if (site.form == Form::kStatement) --end_;
  }

  std::vector<Change> run() {
    change_names();
    if (form_ == Form::kStatement) add_factor_twice();
    change_wholes(source_, form_, begin_, end_, names_, changes_);
    read_all(begin_, end_);
    return std::move(changes_);
  }

 private:
  static constexpr std::size_t kMostOfOne = 1500;
  static constexpr int kSums = 8;  ///< the strength of + and -

  struct Operand {
    std::size_t begin, end;
  };

  void add(Kind kind, const std::vector<Splice>& splices) {
    if (changes_.size() >= kMostOfOne) return;
    changes_.push_back({kind, splices.front().begin, spliced(source_, begin_, end_, splices)});
  }

  [[nodiscard]] auto typed_as(const std::string& name) const {
    return std::ranges::find_if(names_.typed,
                                [&](const auto& each) { return each.second.contains(name); });
  }

  [[nodiscard]] std::string text(const Operand& operand) const {
    return source_.text(operand.begin, operand.end);
  }

  void change_names() {
    const std::vector<Atom> atoms = atoms_in(source_, begin_, end_);
    for (std::size_t a = 0; a < atoms.size(); ++a) {
      const Atom& atom = atoms[a];
      const std::string own = source_.text(atom.begin, atom.end);
      const bool is_addressed = takes_address(source_, atom.begin);
      const auto typed = typed_as(own);
      auto others = is_addressed                  ? names_.addressed
                    : atom.is_array               ? names_.arrays
                    : typed != names_.typed.end() ? typed->second
                                                  : names_.values;
      // A pointer whose address is taken has a type like the others.
      if (is_addressed && typed != names_.typed.end())
        others.insert(typed->second.begin(), typed->second.end());
      // A pointer may stand for one to constants, not the other way round.
      if (typed != names_.typed.end() && typed->first == kConstantPointer &&
          names_.typed.contains("pointer")) {
        const auto& more = names_.typed.at("pointer");
        others.insert(more.begin(), more.end());
      }
      const bool is_assigned = atom.begin == begin_ && typed == names_.typed.end() &&
                               (form_ == Form::kStep || form_ == Form::kStatement);
      if (is_assigned) others = names_.assignable;
      const auto may_be = [&others](const std::string& name) { return others.contains(name); };
      // Not a whole number, as the sum; or the array that is written.
      if (!atom.is_number && !may_be(own)) continue;
      if (atom.is_array && atom.begin == begin_) continue;
      for (const std::string& name : others) {
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
        if (second == own || other.is_array != atom.is_array ||
            takes_address(source_, other.begin) != is_addressed || typed_as(second) != typed ||
            (other.is_number && is_assigned) || !may_be(second)) {
          continue;
        }
        add(Kind::kExchange, {{atom.begin, atom.end, second}, {other.begin, other.end, own}});
      }
    }
  }

  // As the stride: one factor that is missing in rows and columns.
  void add_factor_twice() {
    const std::vector<Atom> atoms = atoms_in(source_, begin_, end_);
    for (std::size_t a = 0; a < atoms.size(); ++a) {
      for (std::size_t b = a + 1; b < atoms.size(); ++b) {
        const std::string first = source_.text(atoms[a].begin, atoms[a].end);
        const std::string second = source_.text(atoms[b].begin, atoms[b].end);
        const bool are_counters =
            names_.counters.contains(first) && names_.counters.contains(second);
        if (first == second || !are_counters) continue;
        for (const std::string& name : names_.sizes) {
          add(Kind::kFactorAdded, {{atoms[a].begin, atoms[a].end, first + " * " + name},
                                   {atoms[b].begin, atoms[b].end, second + " * " + name}});
        }
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
    // The brackets of a launch are none.
    if (i >= end || source_.is_triple(i, '<') || source_.is_triple(i, '>')) return nullptr;
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

  // [begin, last]: (int), static_cast<int>. Not that of a pointer.
  void remove_cast(std::size_t begin, std::size_t last) {
    if (last + 1 >= end_ || source_.has(begin, last, {"*"})) return;
    add(Kind::kCast, {{begin, last + 2, std::string(source_[last + 1].text)}});
  }

  std::size_t read_operand(std::size_t i, std::size_t end) {
    const bool has_sign = source_.is(i, "&") || source_.is(i, "-") || source_.is(i, "!");
    if (has_sign && i + 1 < end) add(Kind::kOperator, {{i, i + 1, ""}});
    while (i < end && (source_.is(i, "-") || source_.is(i, "!") || source_.is(i, "+") ||
                       source_.is(i, "*") || source_.is(i, "&") || source_.is(i, "~"))) {
      ++i;
    }
    if (i >= end) return i;
    if (source_.is(i, "(") && source_.opens(i)) {
      const std::size_t close = source_.partner(i);
      const bool is_cast = is_type(source_[i + 1].text) || source_.is(i + 1, "std");
      if (is_cast) {
        remove_cast(i, close);
        return read_operand(close + 1, end);
      }
      read_all(i + 1, close);
      return read_behind(close + 1, end);
    }
    if (source_.is(i, "sizeof") && source_.opens(i + 1)) return source_.partner(i + 1) + 1;
    if (source_[i].kind == Token::Kind::kIdentifier) {
      ++i;
      while (source_.is(i, "::") && i + 1 < end) i += 2;
      if (source_[i - 1].text.ends_with("_cast") && source_.is(i, "<")) {
        const std::size_t angle = i;
        while (i < end && !source_.is(i, ">")) ++i;
        remove_cast(source_.is(angle - 2, "::") ? angle - 3 : angle - 1, i);
        ++i;
      }
      i = behind_arguments_of_kernel(source_, i, end);
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
      std::istringstream others(own->others);
      for (std::string other; others >> other;) add(own->kind, {{token, behind, other}});
      const bool is_product = own->strength == 9;
      if (own->strength > 0) {
        const Kind kind = is_product ? Kind::kFactorRemoved : Kind::kTermRemoved;
        add(kind, {{token, operands[k + 1].end, ""}});
        add(kind, {{operands[k].begin, behind, ""}});
      }
    }
    const auto is_sum = [](const auto& each) { return each.second->strength == kSums; };
    if (operators.size() > 1 && std::ranges::all_of(operators, is_sum)) {
      for (const Operand& each : operands) {
        add(Kind::kTermRemoved, {{operands.front().begin, operands.back().end, text(each)}});
      }
    }
    for (std::size_t k = 0; k + 2 < operands.size(); ++k) {  // K - 1 - p
      if ((k == 0 || is_sum(operators[k - 1])) && is_sum(operators[k]) && is_sum(operators[k + 1]))
        add(Kind::kTermRemoved, {{operands[k].begin, operands[k + 2].begin, ""}});
    }
    // (H - K) / S
    const auto is_product = [](const auto& each) { return each.second->strength == 9; };
    if (form_ == Form::kValue && !operators.empty() && std::ranges::all_of(operators, is_product)) {
      for (const char* more : {" + 1", " - 1"})
        add(Kind::kOneMore, {{operands.back().end, operands.back().end, more}});
    }
    // i / (W * H) % M
    const auto divides = [](const auto& each) { return each.second->text[0] == '/'; };
    if (form_ == Form::kValue && !operators.empty() && divides(operators.back()) &&
        std::ranges::all_of(operators, is_product)) {
      for (const std::string& name : names_.sizes)
        add(Kind::kOperator, {{operands.back().end, operands.back().end, " % " + name}});
    }
    if (std::ranges::all_of(operators, is_product)) add_between(operands);
    add_parts(operands);
    change_groups(operands, operators);
    add_guards(operands, operators);
    round_up(operands, operators);
    if (!operands.empty()) add_terms(operands);
    change_twice(operands);
    // A plain value has names and factors only, and the left side of a comparison is no bound.
    const bool is_comparison =
        !operators.empty() && operators.front().second->kind == Kind::kComparison;
    if (operators.empty() && form_ != Form::kStatement) {
      if (operands.empty() || !names_.values.contains(text(operands.front()))) return;
      for (const std::string& name : names_.sizes)
        add(Kind::kFactorAdded, {{end_, end_, " * " + name}});
      return;
    }
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool assigns = k == 0 && !operators.empty() && operators.front().second->strength == 0;
      const bool is_text = source_[operands[k].begin].kind == Token::Kind::kString;
      if (assigns || is_text) continue;
      const bool is_assigned = operators.size() == 1 && operators.front().second->strength == 0;
      change_operand(operands[k], is_comparison, is_comparison && k == 0, is_assigned);
    }
  }

  // @param is_assigned  a statement's whole value: x += W
  void change_operand(const Operand& operand, bool is_bound, bool is_left, bool is_assigned) {
    const std::string own = text(operand);
    // Not what is launched, nor its arguments as a whole; nor a call that stands alone, an address,
    // or what CUDA names.
    const bool is_launch =
        source_.is_triple(operand.end, '<') || source_.is_triple(operand.begin - 3, '>');
    if (own.starts_with("cuda") || takes_address(source_, operand.end - 1)) return;
    const bool is_whole = operand.begin == begin_ && operand.end == end_;
    if (is_launch || (is_whole && own.ends_with(")") && !names_.values.contains(own))) return;
    if (typed_as(own) != names_.typed.end() || names_.structures.contains(own)) return;
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
      if ((form_ == Form::kStatement && !is_assigned) || is_left || name == own) continue;
      becomes(Kind::kTermAdded, "(" + own + " - " + name + ")");
      if (!is_number) becomes(Kind::kFactorAdded, "(" + own + ") / " + name);
    }
    if (is_bound && !is_left) return;
    for (const std::string& name : names_.counters) {
      if (name != own) becomes(Kind::kTermAdded, "(" + own + " + " + name + ")");
    }
  }

  // What is in parentheses, or stands twice: (T + K - 1) * (T + K - 1).
  void change_twice(const std::vector<Operand>& operands) {
    for (std::size_t a = 0; a < operands.size(); ++a) {
      std::vector<Operand> alike = {operands[a]};
      for (std::size_t b = a + 1; b < operands.size(); ++b) {
        if (text(operands[b]) == text(operands[a])) alike.push_back(operands[b]);
      }
      const bool is_group = source_.is(operands[a].begin, "(");
      if (operands.size() < 2 || (alike.size() == 1 && !is_group)) continue;
      for (const std::string& name : names_.sizes) {
        std::vector<Splice> splices;
        for (const Operand& each : alike) splices.push_back({each.begin, each.end, name});
        if (name != text(operands[a])) add(Kind::kName, splices);
      }
    }
  }

  // What is missing in an index or in where a pointer begins: a counter that is not in it.
  void add_terms(const std::vector<Operand>& operands) {
    const std::size_t begin = operands.front().begin;
    const std::size_t end = operands.back().end;
    const bool is_index = source_.is(begin - 1, "[") && source_.is(end, "]");
    const bool is_pointer = form_ == Form::kValue && begin == begin_ && end == end_ &&
                            typed_as(source_.text(begin, end)) != names_.typed.end() &&
                            typed_as(source_.text(begin, end))->first != "dim3";
    if (!is_index && !is_pointer) return;
    const std::vector<Atom> atoms = atoms_in(source_, begin, end);
    for (const std::string& counter : names_.counters) {
      const bool is_in = std::ranges::any_of(
          atoms, [&](const Atom& each) { return source_.text(each.begin, each.end) == counter; });
      for (const std::string& product : names_.products) {
        if (!is_in) add(Kind::kTermAdded, {{end, end, " + " + counter + " * " + product}});
      }
    }
  }

  // m * C * K for (m * C + c) * K
  void add_between(const std::vector<Operand>& factors) {
    for (std::size_t k = 1; k + 1 < factors.size(); ++k) {
      const std::size_t begin = factors.front().begin;
      for (const std::string& counter : names_.counters)
        add(Kind::kTermAdded,
            {{begin, begin, "("}, {factors[k].end, factors[k].end, " + " + counter + ")"}});
    }
  }

  // (side * side + K * K) * sizeof(float)
  void add_parts(const std::vector<Operand>& operands) {
    if (form_ != Form::kValue || operands.size() < 2) return;
    const std::size_t end = operands.back().end;
    const bool has_bytes = source_.has(operands.front().begin, end, {"sizeof"});
    for (const std::string& each : names_.parts)
      add(Kind::kTermAdded, {{end, end, " + " + each + (has_bytes ? " * sizeof(float)" : "")}});
  }

  // (a + b - 1) / b
  void round_up(const std::vector<Operand>& operands,
                const std::vector<std::pair<std::size_t, const Operator*>>& operators) {
    for (std::size_t k = 0; k < operators.size(); ++k) {
      if (operators[k].second->text != std::string_view("/")) continue;
      std::size_t first = k;
      while (first > 0 && operators[first - 1].second->strength == 9) --first;
      const std::size_t begin = operands[first].begin;
      const std::size_t end = operators[k].first;
      add(Kind::kRounding,
          {{begin, end,
            "(" + source_.text(begin, end) + " + " + text(operands[k + 1]) + " - 1) "}});
    }
  }

  // A comparison may ask about another thread's number or another size.
  void change_guards(const std::vector<Operand>& operands,
                     const std::vector<std::pair<std::size_t, const Operator*>>& operators) {
    for (std::size_t k = 0; k < operators.size(); ++k) {
      if (operators[k].second->kind != Kind::kComparison) continue;
      const int own = operators[k].second->strength;
      std::size_t first = k;
      while (first > 0 && operators[first - 1].second->strength > own) --first;
      std::size_t last = k + 1;
      while (last < operators.size() && operators[last].second->strength > own) ++last;
      const bool is_less = operators[k].second->text[0] == '<';
      for (const auto& [stays, goes] : names_.guards) {
        add(Kind::kComparison,
            {{operands[first].begin, operands[last].end, is_less ? stays : goes}});
      }
    }
  }

  // Behind a comparison, or several that are joined.
  void add_guards(const std::vector<Operand>& operands,
                  const std::vector<std::pair<std::size_t, const Operator*>>& operators) {
    const auto asks = [](const auto& each) {
      return each.second->kind == Kind::kComparison || std::string_view("&&") == each.second->text;
    };
    if (std::ranges::none_of(operators, asks) || operators.front().second->strength == 0) return;
    const bool leaves = form_ == Form::kCondition &&
                        (source_.is(end_ + 1, "return") || source_.is(end_ + 1, "continue"));
    const std::size_t end = operands.back().end;
    for (const auto& [stays, goes] : names_.guards) {
      add(Kind::kGuardAdded, {{end, end, leaves ? " || " + goes : " && " + stays}});
    }
    change_guards(operands, operators);
  }

  void add_factor_of_sum(std::size_t begin, std::size_t end) {
    for (const std::string& name : names_.sizes)
      add(Kind::kFactorAdded, {{begin, begin, "("}, {end, end, ") * " + name}});
  }

  // (a + b) * c: the factor belongs to one of both.
  void move_factor(const Operand& sum, const Operand& factor) {
    if (!source_.is(sum.begin, "(") || source_.partner(sum.begin) + 1 != sum.end) return;
    for (std::size_t i = sum.begin + 2; i + 1 < sum.end; ++i) {
      if (source_.opens(i)) i = source_.partner(i);
      if (!source_.is(i, "+") && !source_.is(i, "-")) continue;
      return add(Kind::kParentheses, {{i, i, " * " + text(factor)}, {sum.end, factor.end, ""}});
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
        if (weakest == kSums && form_ == Form::kValue)
          add_factor_of_sum(operands[a].begin, operands[b + 1].end);
        if (!before && !after) continue;
        const Splice open{operands[a].begin, operands[a].begin, "("};
        const std::size_t end = operands[b + 1].end;
        add(Kind::kParentheses, {open, {end, end, ")"}});
      }
    }
    for (std::size_t k = 0; k < operators.size(); ++k) {
      if (operators[k].second->text == std::string_view("*"))
        move_factor(operands[k], operands[k + 1]);
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

}  // namespace

std::vector<Change> changes_of(const Source& source, const Site& site, const Names& names) {
  return Expression(source, site, names).run();
}

std::string replaced_everywhere(const Source& source, const Site& site, const std::string& from,
                                const std::string& to, bool exchange) {
  std::vector<Splice> splices;
  for (const Atom& atom : atoms_in(source, site.begin, site.end)) {
    const std::string text = source.text(atom.begin, atom.end);
    if (text == from) splices.push_back({atom.begin, atom.end, to});
    if (exchange && text == to) splices.push_back({atom.begin, atom.end, from});
  }
  return splices.empty() ? "" : spliced(source, site.begin, site.end, splices);
}

}  // namespace convlab::grader::mend
