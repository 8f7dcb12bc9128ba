#include "grader/checks/mend/outline.hpp"

#include <algorithm>
#include <utility>

namespace convlab::grader::mend {

namespace {

using rewrite::Scope;
using rewrite::Source;
using rewrite::Token;
using Form = Site::Form;

class Outliner {
 public:
  explicit Outliner(const Source& source) : source_(source) {}

  Outline run() {
    for (std::size_t i = 1; i < source_.size(); ++i) {
      if (!source_.opens(i) || !source_.is(i, "{") || source_[i].directive != 0) continue;
      if (source_.scope(i) == Scope::kFunction || source_.scope(i + 1) != Scope::kFunction)
        continue;
      std::size_t close = i - 1;
      while (close > 0 && (source_.is(close, "const") || source_.is(close, "noexcept") ||
                           source_.is(close, "override"))) {
        --close;
      }
      if (!source_.is(close, ")") || source_.partner(close) >= close) continue;
      function_ = i;
      end_ = source_.partner(i);
      add_parameters(source_.partner(close), close);
      read_block(i, false);
      i = end_;
    }
    for (std::size_t i = 0; i + 3 < source_.size(); ++i) {
      if (is(i, "#") && is(i + 1, "define") && source_[i].directive != 0) add_macro(i + 2);
    }
    add_outer_numbers();
    return std::move(outline_);
  }

 private:
  static constexpr std::size_t kMostPlaces = 12;

  [[nodiscard]] bool is(std::size_t i, std::string_view text) const { return source_.is(i, text); }
  [[nodiscard]] bool is_name(std::size_t i) const {
    return i < source_.size() && source_[i].kind == Token::Kind::kIdentifier;
  }

  void add_parameters(std::size_t open, std::size_t close) {
    for (std::size_t i = open + 1; i <= close; ++i) {
      if ((is(i, ",") || i == close) && is_name(i - 1)) {
        outline_.variables.push_back({std::string(source_[i - 1].text), function_, end_});
      }
    }
  }

  // Whole numbers outside of functions: the members of a class, and the file's constants.
  void add_outer_numbers() {
    std::vector<std::size_t> classes;  // their braces
    for (std::size_t i = 1; i + 1 < source_.size(); ++i) {
      while (!classes.empty() && i >= source_.partner(classes.back())) classes.pop_back();
      const Scope scope = source_.scope(i);
      if (is(i, "{") && source_.opens(i) && source_.scope(i + 1) == Scope::kClass)
        classes.push_back(i);
      const bool begins = is_name(i) && (is(i + 1, "=") || is(i + 1, ";") || is(i + 1, ","));
      if (scope == Scope::kFunction || source_.in_parentheses(i) || !begins ||
          source_[i].directive != 0 || !is_number_type(i - 1)) {
        continue;
      }
      std::size_t first = i - 1;
      while (first > 0 && is_name(first - 1)) --first;
      const bool is_constant = source_.has(first, i, {"const", "constexpr"});
      if (classes.empty() && !is_constant) continue;
      const std::size_t end = classes.empty() ? source_.size() : source_.partner(classes.back());
      for (std::size_t at = i; is_name(at); ++at) {
        const std::size_t stop = std::min(find(at, end, ","), find(at, end, ";"));
        outline_.variables.push_back({.name = std::string(source_[at].text),
                                      .begin = classes.empty() ? stop : classes.back(),
                                      .end = end,
                                      .is_constant = is_constant});
        at = stop;
        if (!is(stop, ",")) break;
      }
    }
  }

  [[nodiscard]] bool is_number_type(std::size_t i) const {
    static const rewrite::Words types = rewrite::words_of("int long size_t unsigned int64_t");
    return types.contains(source_[i].text);
  }

  // #define AT(h, w) input[(h) * W + w]
  void add_macro(std::size_t name) {
    const std::size_t open = name + 1;
    const int directive = source_[name].directive;
    if (!is(open, "(") || source_[name].end() != source_[open].offset || !source_.opens(open))
      return;
    std::size_t end = source_.partner(open) + 1;
    const std::size_t body = end;
    while (end < source_.size() && source_[end].directive == directive) ++end;
    std::size_t begin = body;
    while (begin < end && !(is(begin, "[") && source_.opens(begin))) ++begin;
    function_ = open;
    end_ = end;
    const auto known = outline_.variables.size();
    add_parameters(open, body - 1);
    for (std::size_t v = known; v < outline_.variables.size(); ++v)
      outline_.variables[v].begin = name;
    const bool indexes = begin < end && source_.partner(begin) < end;
    const std::size_t first = indexes ? begin + 1 : body;
    const std::size_t last = indexes ? source_.partner(begin) : end;
    // What a macro writes without parentheses is part of what stands around it.
    const bool is_apart = indexes || source_.partner(first) + 1 == last || first + 1 == last;
    if (first < last && is_apart)
      outline_.sites.push_back(
          {.form = Form::kMacro, .begin = first, .end = last, .function = open});
  }

  // The first token in [i, end) outside of inner brackets with this text, or end.
  [[nodiscard]] std::size_t find(std::size_t i, std::size_t end, std::string_view text) const {
    for (; i < end; ++i) {
      if (is(i, text)) return i;
      if (source_.opens(i)) i = source_.partner(i);
    }
    return end;
  }

  void add_site(Form form, std::size_t begin, std::size_t end, bool is_loop = false) {
    if (begin >= end) return;
    for (std::size_t i = begin; i < end; ++i) {
      if (source_[i].directive != 0 || is(i, "{")) return;
    }
    outline_.sites.push_back(
        {.form = form, .begin = begin, .end = end, .function = function_, .is_loop = is_loop});
  }

  std::size_t add_place(std::size_t token, bool begins_loop = false) {
    outline_.sites.push_back({.form = Form::kPlace,
                              .begin = token,
                              .end = token,
                              .function = function_,
                              .begins_loop = begins_loop});
    return outline_.sites.size() - 1;
  }

  void read_block(std::size_t open, bool is_loop) {
    const std::size_t close = source_.partner(open);
    std::vector<std::size_t> places = {add_place(open + 1, is_loop)};
    struct Item {
      std::size_t token, first_site, last_site;
    };
    std::vector<Item> items;
    blocks_.push_back(close);
    for (std::size_t i = open + 1; i < close;) {
      const std::size_t first = outline_.sites.size();
      const std::size_t token = i;
      i = std::max(read_statement(i, close), i + 1);
      items.push_back({token, first, outline_.sites.size()});
      places.push_back(add_place(i));
    }
    blocks_.pop_back();
    for (std::size_t at = 0; at < items.size(); ++at) {
      for (std::size_t s = items[at].first_site; s < items[at].last_site; ++s) {
        Site& site = outline_.sites[s];
        if (site.form != Form::kStatement) continue;
        const bool is_item = site.begin == items[at].token;
        for (std::size_t place = 0; place < places.size(); ++place) {
          const bool is_beside = place == at || place == at + 1;
          if (is_beside != is_item && site.places.size() < kMostPlaces) {
            site.places.push_back(places[place]);
          }
        }
        // Into the loops beside it.
        const std::size_t from = items[at > 0 ? at - 1 : at].first_site;
        const std::size_t to = items[std::min(at + 1, items.size() - 1)].last_site;
        for (std::size_t inner = from; inner < to && is_item; ++inner) {
          if (outline_.sites[inner].begins_loop && site.places.size() < kMostPlaces)
            site.places.push_back(inner);
        }
      }
    }
  }

  // Reads one statement, and notes it. @return the token behind it
  std::size_t read_statement(std::size_t i, std::size_t end, bool is_loop = false) {
    const std::size_t own = outline_.statements.size();
    const std::size_t parent = std::exchange(statement_, own);
    std::size_t head = i;
    while (head < end && source_[head].directive != 0) ++head;
    outline_.statements.push_back(
        {.begin = i,
         .parent = parent,
         .is_loop = is(head, "for") || is(head, "while") || is(head, "do"),
         .is_block = is(head, "{")});
    const std::size_t behind = read_any(i, end, is_loop);
    outline_.statements[own].end = behind;
    statement_ = parent;
    return behind;
  }

  std::size_t read_any(std::size_t i, std::size_t end, bool is_loop) {
    int loops_of_openmp = 0;
    while (i < end && source_[i].directive != 0) {
      const int directive = source_[i].directive;
      bool is_openmp = false;
      int collapsed = 1;
      for (; i < end && source_[i].directive == directive; ++i) {
        is_openmp |= is(i, "omp");
        if (is(i, "collapse") && i + 2 < end && source_[i + 2].text.size() == 1) {
          collapsed = source_[i + 2].text.front() - '0';
        }
        if (is_openmp && is(i, "for")) loops_of_openmp = 1;
      }
      if (loops_of_openmp > 0) loops_of_openmp = std::max(loops_of_openmp, collapsed);
      is_directed_ = is_openmp;
    }
    if (loops_of_openmp > 0) openmp_loops_ = loops_of_openmp;
    const bool is_directed = std::exchange(is_directed_, false);
    if (i >= end) return end;
    if (is(i, "{")) {
      if (!source_.opens(i)) return end;
      read_block(i, is_loop);
      return source_.partner(i) + 1;
    }
    if (is(i, "for") && source_.opens(i + 1)) return read_for(i, end);
    if ((is(i, "if") || is(i, "while") || is(i, "switch"))) return read_test(i, end);
    if (is(i, "do")) {
      i = read_statement(i + 1, end, true);
      if (is(i, "while") && source_.opens(i + 1)) {
        add_site(Form::kCondition, i + 2, source_.partner(i + 1), true);
        i = source_.partner(i + 1) + 1;
      }
      return i + 1;
    }
    if (is(i, "case") || is(i, "default")) return find(i, end, ":") + 1;
    const std::size_t stop = find(i, end, ";");
    if (stop == end) return end;
    if (is(i, "return")) {
      add_site(Form::kValue, i + 1, stop);
    } else if (is(i, "break") || is(i, "continue")) {
      add_site(Form::kJump, i, stop + 1);
    } else if (stop > i) {
      const bool declares = read_declaration(i, stop, blocks_.back());
      outline_.statements[statement_].declares = declares;
      if (!declares && !is_directed) add_site(Form::kStatement, i, stop + 1);
    }
    read_lambdas(i, stop);
    return stop + 1;
  }

  // Bodies of lambdas, in a statement that is no site.
  void read_lambdas(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (!is(i, "{") || !source_.opens(i) || !(is(i - 1, ")") || is(i - 1, "]"))) continue;
      if (is(i - 1, ")") && source_.partner(i - 1) < i) {
        const std::size_t open = source_.partner(i - 1);
        const std::size_t known = outline_.variables.size();
        if (open > 0 && is(open - 1, "]")) add_parameters(open, i - 1);
        for (std::size_t v = known; v < outline_.variables.size(); ++v) {
          outline_.variables[v].begin = i;
          outline_.variables[v].end = source_.partner(i);
        }
      }
      read_block(i, true);  // it is called again and again
      i = source_.partner(i);
    }
  }

  std::size_t read_for(std::size_t i, std::size_t end) {
    const bool of_openmp = openmp_loops_ > 0;
    if (of_openmp) --openmp_loops_;
    const std::size_t close = source_.partner(i + 1);
    const std::size_t first = find(i + 2, close, ";");
    const std::size_t second = first < close ? find(first + 1, close, ";") : close;
    const std::size_t known = outline_.variables.size();
    if (second < close) {
      in_for_ = true;
      const bool declares = read_declaration(i + 2, first, end);
      in_for_ = false;
      if (!declares && !of_openmp) add_site(Form::kStep, i + 2, first);
      std::size_t condition = first + 1;
      if (of_openmp) {  // name < bound
        while (condition < second && !is(condition, "<") && !is(condition, ">")) ++condition;
        condition += is(condition + 1, "=") ? 2 : 1;
        add_site(Form::kValue, condition, second);
        // The bound is read once, before the variable has a value.
        for (std::size_t v = known; v < outline_.variables.size(); ++v) {
          outline_.variables[v].begin = second;
        }
      } else {
        add_site(Form::kCondition, condition, second, true);
        add_site(Form::kStep, second + 1, close);
      }
    }
    const std::size_t behind = read_statement(close + 1, end, true);
    for (std::size_t v = known; v < outline_.variables.size(); ++v) {
      if (outline_.variables[v].begin < close) outline_.variables[v].end = behind;
    }
    openmp_loops_ = 0;
    return behind;
  }

  std::size_t read_test(std::size_t i, std::size_t end) {
    const bool is_if = is(i, "if");
    const bool is_while = is(i, "while");
    const bool is_constexpr = is(i + 1, "constexpr");
    const std::size_t open = is_constexpr ? i + 2 : i + 1;
    if (!source_.opens(open)) return find(i, end, ";") + 1;
    const std::size_t close = source_.partner(open);
    const Form form = is_if || is_while ? Form::kCondition : Form::kValue;
    if (!is_constexpr && find(open + 1, close, ";") == close) {
      add_site(form, open + 1, close, is_while);
    }
    const std::size_t first = outline_.sites.size();
    i = read_statement(close + 1, end, is_while);
    for (std::size_t s = first; s < outline_.sites.size(); ++s)
      outline_.sites[s].is_in_switch |= is(open - 1, "switch");
    return is_if && is(i, "else") ? read_statement(i + 1, end) : i;
  }

  // int a = X, b = Y; [begin, end) ends before the semicolon. False if it declares nothing.
  bool read_declaration(std::size_t begin, std::size_t end, std::size_t scope_end) {
    std::size_t name = end;  // two names beside each other, the second one is declared
    for (std::size_t i = begin + 1; i < end && name == end; ++i) {
      if (is(i, "=") || is(i, "[") || is(i, "{") || is(i, "(") || is(i, ",")) break;
      if (!is_name(i) || is(i, "const")) continue;
      const bool behind_type = is_name(i - 1) || is(i - 1, ">") || is(i - 1, "*") || is(i - 1, "&");
      const bool ends = i + 1 >= end || is(i + 1, "=") || is(i + 1, "[") || is(i + 1, "{") ||
                        is(i + 1, "(") || is(i + 1, ",");
      if (behind_type && ends && !is(i - 1, "else") && !is(i - 1, "delete") &&
          !is(i - 1, "throw")) {
        name = i;
      }
    }
    if (name == end) return false;
    bool is_fixed = false;  // may be the size of an array
    bool is_constant = false;
    bool is_floating = false;
    for (std::size_t i = begin; i < name; ++i) {
      is_fixed |= is(i, "constexpr") || is(i, "static") || is(i, "__shared__") || is(i, "using");
      is_constant |= is(i, "const");
      is_floating |= is(i, "float") || is(i, "double");
    }
    for (std::size_t i = name; i < end;) {
      const std::size_t comma = find(i, end, ",");
      while (i < comma && !is_name(i)) ++i;
      if (i >= comma) break;
      const bool has_value = is(i + 1, "=") && i + 2 < comma;
      Variable variable{std::string(source_[i].text), comma, scope_end};
      if (has_value) variable.alias = source_.text(i + 2, comma);
      variable.is_counter = in_for_ || variable.alias.find("Idx") != std::string::npos;
      if (has_value && comma == i + 3 && source_[i + 2].kind == Token::Kind::kNumber) {
        variable.start = source_[i + 2].text;
      }
      // dim3 grid(columns, rows)
      if ((is(i + 1, "(") || is(i + 1, "{")) && source_.opens(i + 1) && !is_fixed) {
        const std::size_t close = source_.partner(i + 1);
        for (std::size_t at = i + 2; at < close;) {
          const std::size_t stop = find(at, close, ",");
          add_site(Form::kValue, at, stop);
          at = stop + 1;
        }
      }
      const bool may_be_size = is_constant && !variable.start.empty();
      if (has_value && !is_fixed && !may_be_size) add_site(Form::kValue, i + 2, comma);
      variable.is_constant = is_constant || is_fixed;
      variable.is_floating = is_floating || variable.start.find('.') != std::string::npos;
      if (is_constant) variable.start.clear();
      outline_.variables.push_back(std::move(variable));
      i = comma + 1;
    }
    return true;
  }

  const Source& source_;
  Outline outline_;
  std::size_t function_ = 0;
  std::size_t end_ = 0;
  std::size_t statement_ = Statement::kNone;
  int openmp_loops_ = 0;
  bool is_directed_ = false;
  bool in_for_ = false;
  std::vector<std::size_t> blocks_;
};

}  // namespace

Outline outline_of(const Source& source) {
  return Outliner(source).run();
}

}  // namespace convlab::grader::mend
