#include "grader/checks/mend/edits.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

namespace convlab::grader::mend {

namespace {

using Form = Site::Form;
using rewrite::Source;

struct KindWords {
  Kind kind;
  const char* words;
};
constexpr std::array<KindWords, 29> kKindWords = {{
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
    {Kind::kGuardAdded, "a condition that is missing"},
    {Kind::kCast, "a cast"},
    {Kind::kSize, "the size of an array"},
    {Kind::kType, "the type of a variable"},
    {Kind::kWord, "a word in front of a type"},
    {Kind::kStart, "a first value that is missing"},
    {Kind::kPragma, "a line for OpenMP"},
    {Kind::kElsewhere, "a value that another function computes in another way"},
    {Kind::kRounding, "a division that rounds down, or should"},
    {Kind::kBytes, "a number of bytes"},
    {Kind::kLaunch, "what a launch or a call gets in addition"},
    {Kind::kCapture, "what a lambda takes with it"},
    {Kind::kRepeated, "something that is done once and should be repeated"},
}};

// Whether an edit puts nothing but names in place of some of these.
bool changes_only(const Edit& edit, const std::set<std::string>& names) {
  const Source before(edit.before);
  const Source after(edit.after);
  const auto old_atoms = atoms_in(before, 0, before.size());
  const auto new_atoms = atoms_in(after, 0, after.size());
  return std::ranges::equal(old_atoms, new_atoms, [&](const Atom& one, const Atom& other) {
    const std::string text = before.text(one.begin, one.end);
    return text == after.text(other.begin, other.end) || names.contains(text);
  });
}

// Edits of a macro stand in another one, in front of it.
std::size_t position_of(const Site& site) {
  return site.form == Form::kMacro ? site.function - 3 : site.begin;
}

}  // namespace

const char* words_of(Kind kind) {
  return std::ranges::find(kKindWords, kind, &KindWords::kind)->words;
}

std::string moved_text(std::size_t line) {
  return "(nothing here, and the same in front of line " + std::to_string(line) + ")";
}

std::string tidy(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

EditableFile::EditableFile(const std::string& text, bool runs_kernels)
    : text_(text),
      runs_kernels_(runs_kernels),
      source_(text_),
      outline_(outline_of(source_)),
      types_(types_in(source_)) {
  alternatives_.resize(outline_.sites.size());
  dropped_sites_.resize(outline_.sites.size());
  for (std::size_t s = 0; s < outline_.sites.size(); ++s) {
    Names names = names_at(outline_.sites[s]);
    names.guards = guards_at(outline_.sites[s], names);
    names_.push_back(names.values);
    find_changes(s, names);
  }
  add_everywhere();
  add_twins();
  add_copies();
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

// Whether the variables that a statement uses are known at another place.
bool EditableFile::knows_all_of(const Site& site, std::size_t place) const {
  return std::ranges::all_of(outline_.variables, [&](const Variable& each) {
    const bool is_used = each.begin < site.begin && site.begin < each.end &&
                         source_.has(site.begin, site.end, {each.name});
    return !is_used || (each.begin < place && place < each.end);
  });
}

// Whether it stands in a kernel whose threads wait for each other, or should.
bool EditableFile::shares_memory(const Site& site) const {
  return source_.has(site.function, source_.partner(site.function), {"__shared__"});
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
      edit.after = moved_text(source_[outline_.sites[place].begin].line);
      edit.lines.insert(source_[outline_.sites[place].begin].line);
      edit.choices.emplace_back(place, moved);
    }
    edits_.push_back(std::move(edit));
  };
  if (site.form == Form::kPlace) {
    if (shares_memory(site)) add_edit(Kind::kAdded, site.begin - 1, "__syncthreads();");
    if (site.is_in_switch) add_edit(Kind::kAdded, site.begin - 1, "break;");
    for (const auto& [stays, goes] : names.guards) {
      if (may_leave_at(site)) add_edit(Kind::kGuardAdded, site.begin, "if (" + goes + ") return;");
    }
    if (!site.begins_loop) return;
    for (const Variable& each : outline_.variables) {
      const bool known = each.begin < site.begin && site.begin < each.end;
      if (!known || each.start.empty() || each.is_counter || each.begin < site.function) continue;
      add_edit(Kind::kAdded, site.begin - 1, each.name + " = " + each.start + ";");
    }
    return;
  }
  if (site.form == Form::kCopy) return;
  if (site.form == Form::kJump) return add_edit(Kind::kDeleted, site.begin, "");
  if (s + 1 < outline_.sites.size() && site.form == Form::kValue) exchange_with_next(s);
  for (Change& change : changes_of(source_, site, names)) {
    add_edit(change.kind, change.token, change.text + (ends ? ";" : ""));
  }
  for (const Variable& each : outline_.variables) {
    const bool is_it = site.form == Form::kValue && source_.is(site.begin - 1, "=") &&
                       source_.is(site.begin - 2, each.name);
    if (is_it && !each.alias.empty()) add_edit(Kind::kElsewhere, site.begin, each.alias);
  }
  if (site.form == Form::kCondition) {
    add_edit(Kind::kCondition, site.begin, "false");
    if (!site.is_loop) add_edit(Kind::kCondition, site.begin, "true");
  }
  if (!ends) return;
  add_edit(Kind::kDeleted, site.begin, "");
  const auto atoms = atoms_in(source_, site.begin, site.end);
  if (!atoms.empty() && atoms.front().is_array && atoms.front().begin == site.begin) {
    for (const auto& [stays, goes] : names.guards)
      add_edit(Kind::kGuardAdded, site.begin, "if (" + stays + ") " + own);
  }
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
    constexpr std::size_t kMostNames = 80;  // of a hostile file
    if (used.size() > kMostNames) continue;
    if (used.contains("1")) used.emplace("0", true);
    for (const auto& [from, from_number] : used) {
      for (const auto& [to, to_number] : used) {
        for (const bool exchange : {false, true}) {
          const bool is_number = to_number && (from != "1" || to != "0");
          if (from == to || is_number || (exchange && (from_number || to < from))) continue;
          Edit edit{.kind = exchange ? Kind::kExchange : Kind::kName, .before = from, .after = to};
          for (const std::size_t s : sites) {
            const std::string text =
                replaced_everywhere(source_, outline_.sites[s], from, to, exchange);
            if (text.empty()) continue;
            const bool is_known =
                (to_number || names_[s].contains(to)) && (from_number || names_[s].contains(from));
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

// The file with an edit of one expression, each line where it was.
std::string EditableFile::text_with(const Edit& edit) const {
  const auto& [s, alternative] = edit.choices.front();
  const Site& site = outline_.sites[s];
  const std::size_t begin = source_[site.begin].offset;
  const std::size_t end = source_[site.end - 1].end();
  const auto lines = std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  return text_.substr(0, begin) + alternatives_[s][alternative - 1].text +
         std::string(static_cast<std::size_t>(lines), '\n') + text_.substr(end);
}

void EditableFile::add_second_changes(const std::vector<const Edit*>& firsts) {
  std::vector<std::string> texts;
  std::vector<const Edit*> own;
  for (const Edit* first : firsts) {
    const Site& site = outline_.sites[first->choices.front().first];
    const bool is_expression = site.form == Form::kStatement || site.form == Form::kValue ||
                               site.form == Form::kCondition || site.form == Form::kStep;
    const bool is_it = is_expression && site.end > site.begin && first->kind == Kind::kExchange;
    if (!is_it || !changes_only(*first, names_at(site).counters)) continue;
    own.push_back(first);
    texts.push_back(text_with(*first));
  }
  alternatives_.assign(alternatives_.size(), {});
  edits_.clear();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t s = own[i]->choices.front().first;
    const std::set<std::string> sizes = names_at(outline_.sites[s]).sizes;
    const EditableFile changed(texts[i], runs_kernels_);
    if (changed.outline_.sites.size() != outline_.sites.size()) continue;
    for (const Edit& second : changed.edits_) {
      const auto& [site, alternative] = second.choices.front();
      if (second.choices.size() != 1 || site != s) continue;
      if (!changes_only(second, sizes)) continue;
      const std::size_t both = add(s, changed.alternatives_[s][alternative - 1].text);
      if (both == 0) continue;
      edits_.push_back(*own[i]);
      edits_.back().further = second.kind;
      edits_.back().after = second.after;
      edits_.back().choices = {{s, both}};
    }
  }
}

void EditableFile::keep_part(std::size_t part, std::size_t most) {
  // The same change in several places is less likely than one.
  constexpr std::size_t kOfSeveral = 3;
  const auto sort_of = [](const Edit& edit) {
    return std::pair(edit.kind, edit.choices.size() > 1);
  };
  std::map<std::pair<Kind, bool>, std::size_t> counts;
  for (const Edit& edit : edits_) counts[sort_of(edit)] += sort_of(edit).second ? kOfSeveral : 1;
  std::ranges::stable_sort(edits_, {}, [&](const Edit& edit) { return counts[sort_of(edit)]; });
  const auto begin =
      edits_.begin() + static_cast<std::ptrdiff_t>(std::min(part * most, edits_.size()));
  edits_.erase(edits_.begin(), begin);
  if (edits_.size() > most) edits_.resize(most);
  std::set<std::pair<std::size_t, std::size_t>> used;
  for (const Edit& edit : edits_) used.insert(edit.choices.begin(), edit.choices.end());
  for (std::size_t s = 0; s < alternatives_.size(); ++s) {
    for (std::size_t a = 0; a < alternatives_[s].size(); ++a)
      alternatives_[s][a].dropped |= !used.contains({s, a + 1});
  }
}

void EditableFile::write_site(std::size_t s, std::string& out) {
  const Site& site = outline_.sites[s];
  const std::string own = text_.substr(
      source_[site.begin].offset,
      site.begin == site.end ? 0 : source_[site.end - 1].end() - source_[site.begin].offset);
  const auto& all = alternatives_[s];
  if (site.form == Form::kCopy) return write_copies(s, out);
  if (site.form == Form::kPlace && site.begin == site.function + 1)
    write_calls_of_copies(site.function, out);
  if (dropped_sites_[s] || (!has_any(s) && !site.is_loop)) {
    if (site.form != Form::kMacro) out += own;
    return;
  }
  if (site.form == Form::kMacro) return write_macro(s, out);
  const std::string chosen = "::convlab::mend::chosen[" + std::to_string(s) + "]";
  const auto write_line = [&](std::size_t alternative, const std::string& text) {
    this->write_line(s, alternative, text, out);
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
  // What refers to an element must still do so.
  std::size_t head = site.function;
  while (head > 0 && !source_.is(head, ")")) --head;
  if (is_value && source_.is(site.begin - 1, "return") && source_.partner(head) < head &&
      source_.is(source_.partner(head) - 2, "&")) {
    open = "[&]() -> decltype((" + source_.text(site.begin, site.end) + ")) {switch (" + chosen +
           ") {";
  }
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
  const std::string last = "default: " + before + renamed(own, edited_macros_) + after + close;
  owner_ = {s, 0};
  copy(last, out);
}

void EditableFile::write_line(std::size_t site, std::size_t alternative, const std::string& text,
                              std::string& out) {
  owner_ = {site, alternative};
  end_line(text, out);
}

bool EditableFile::has_any(std::size_t site) const {
  return !dropped_sites_[site] &&
         std::ranges::any_of(alternatives_[site], [](const auto& each) { return !each.dropped; });
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
    return std::pair(position_of(first), first.end) < std::pair(position_of(second), second.end);
  });
  lines_.clear();
  edited_macros_.clear();
  for (std::size_t s = 0; s < outline_.sites.size(); ++s) {
    if (outline_.sites[s].form != Form::kMacro || !has_any(s)) continue;
    const std::string name(source_[outline_.sites[s].function - 1].text);
    edited_macros_[name] = "convlab_mend_" + name;
  }
  owner_ = {alternatives_.size(), 0};
  std::string out;
  if (runs_kernels_) end_line("#include <cuda_runtime.h>", out);
  end_line("#include \"common/custom_submission/mendable.hpp\"", out);
  std::size_t at = 0;
  const auto copy_to = [&](std::size_t offset) {
    if (offset > at) copy(std::string_view(text_).substr(at, offset - at), out), at = offset;
  };
  for (const std::size_t s : order) {
    const Site& site = outline_.sites[s];
    const std::size_t token = position_of(site);
    copy_to(token < source_.size() ? source_[token].offset : text_.size());
    write_site(s, out);
    if (site.end > site.begin && site.form != Form::kMacro) at = source_[site.end - 1].end();
  }
  copy_to(text_.size());
  end_line("", out);
  return out;
}

bool EditableFile::drop_lines(const std::set<std::size_t>& lines, bool whole_sites) {
  bool dropped = false;
  for (const std::size_t line : lines) {
    if (line == 0 || line > lines_.size()) continue;
    // What the compiler says of a whole loop stands in its line, in front of the site.
    const bool is_before = lines_[line - 1].first == alternatives_.size() && line < lines_.size();
    const auto& [site, alternative] = lines_[is_before ? line : line - 1];
    if (site >= alternatives_.size() || (is_before && alternative > 0)) continue;
    dropped = true;
    if (alternative == 0 || (whole_sites && site != copies_)) {
      dropped_sites_[site] = true;
    } else {
      alternatives_[site][alternative - 1].dropped = true;
    }
  }
  return dropped;
}

}  // namespace convlab::grader::mend
