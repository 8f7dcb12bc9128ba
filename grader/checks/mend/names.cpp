// What is known at a site, by what may stand for what.

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <vector>

#include "grader/checks/mend/edits.hpp"

namespace convlab::grader::mend {

namespace {

// What stands beside a member in its structure: threadIdx.y beside threadIdx.x.
void add_members_like(const std::string& root, const std::string& member,
                      std::set<std::string>& values) {
  static const std::array<std::vector<std::string>, 2> members = {
      {{"batch", "out_channels", "in_channels", "height", "width", "kernel", "stride",
        "out_height()", "out_width()"},
       {"input_size()", "weights_size()", "output_size()", "input_image_size()",
        "output_image_size()"}}};
  if (root.ends_with("Idx") || root.ends_with("Dim")) {
    for (const char* axis : {".x", ".y"}) values.insert(root + axis);
    const std::string kind = root.substr(root.size() - 3);
    for (const char* of : {"thread", "block", "grid"}) {
      const bool exists = of[0] != (kind == "Idx" ? 'g' : 't');
      if (exists) values.insert(of + kind + "." + member);
    }
  }
  for (const auto& alike : members) {
    if (std::ranges::find(alike, member) == alike.end()) continue;
    for (const std::string& other : alike) values.insert(root + "." + other);
  }
}

bool is_known_at(const Site& site, const Variable& each) {
  return each.begin < site.begin && site.begin < each.end;
}

// Whether it keeps its first value, so that both names stand for the same number. Tokens of
// punctuation are single characters.
bool keeps_value(const rewrite::Source& source, const Variable& each) {
  const auto is_one_of = [&](std::size_t token, std::string_view characters) {
    return source[token].text.size() == 1 &&
           characters.find(source[token].text) < characters.size();
  };
  for (std::size_t i = each.begin; i + 2 < each.end; ++i) {
    if (!source.is(i, each.name)) continue;
    const bool is_set = source.is(i + 1, "=") && !source.is(i + 2, "=");
    const bool is_changed = is_one_of(i + 1, "+-*/%") && source.is(i + 2, "=");
    const bool steps = is_one_of(i + 1, "+-") && source.is(i + 2, source[i + 1].text);
    const bool is_stepped = is_one_of(i - 1, "+-") && source.is(i - 2, source[i - 1].text);
    if (is_set || is_changed || steps || is_stepped) return false;
  }
  return true;
}

}  // namespace

// What the statements of its function use.
void EditableFile::add_used(const Site& site, Names& names) const {
  const std::size_t end = source_.partner(site.function);
  // A variable of another scope has no value here; a name that no function declares has.
  const auto has_value = [&](const std::string& root) {
    bool is_declared = false;
    for (const Variable& each : outline_.variables) {
      if (each.name != root) continue;
      if (is_known_at(site, each)) return true;
      is_declared |= each.begin >= site.function && each.begin < end;
    }
    return !is_declared;
  };
  for (const Site& each : outline_.sites) {
    if (each.function != site.function) continue;
    for (const Atom& atom : atoms_in(source_, each.begin, each.end)) {
      const std::string root(source_[atom.begin].text);
      if (atom.is_number || !has_value(root)) continue;
      if (atom.end > atom.begin + 1) names.structures.insert(root);
      const std::string text = source_.text(atom.begin, atom.end);
      if (text.starts_with("cuda")) {  // the direction of a copy
        names.typed["cuda"].insert(text);
        continue;
      }
      const auto type = types_.find(text);
      if (takes_address(source_, atom.begin)) names.addressed.insert(text);
      (atom.is_array          ? names.arrays
       : type != types_.end() ? names.typed[type->second]
                              : names.values)
          .insert(text);
      if (atom.end >= atom.begin + 3 && source_.is(atom.begin + 1, "."))
        add_members_like(root, source_.text(atom.begin + 2, atom.end), names.values);
    }
  }
}

// The variables of its scopes.
void EditableFile::add_declared(const Site& site, Names& names) const {
  // What writes a macro is read where it is used: the values of whole functions are known there.
  if (site.form == Site::Form::kMacro) {
    const std::string_view macro = source_[site.function - 1].text;
    for (const Variable& each : outline_.variables) {
      const bool is_whole =
          source_.is(each.begin, "{") || (each.is_constant && !each.alias.empty());
      if (!is_whole || !source_.has(each.begin, each.end, {macro})) continue;
      const auto type = types_.find(each.name);
      (type != types_.end() ? names.typed[type->second] : names.values).insert(each.name);
    }
  }
  for (const Variable& each : outline_.variables) {
    if (!is_known_at(site, each)) continue;
    const auto type = types_.find(each.name);
    (type != types_.end() ? names.typed[type->second] : names.values).insert(each.name);
    const bool is_number = type == types_.end() && !names.structures.contains(each.name);
    if (is_number && !each.is_constant && !each.is_floating) names.assignable.insert(each.name);
  }
  for (const Variable& each : outline_.variables) {
    if (!is_known_at(site, each)) continue;
    if (names.values.contains(each.alias) && keeps_value(source_, each))
      names.values.erase(each.alias);
    if (each.is_floating) names.values.erase(each.name);
    if (each.is_counter && names.values.contains(each.name)) names.counters.insert(each.name);
  }
}

Names EditableFile::names_at(const Site& site) const {
  Names names;
  add_used(site, names);
  add_declared(site, names);
  if (site.form == Site::Form::kStep && !source_.has(site.begin, site.end, {"="})) {
    std::erase_if(names.counters,
                  [&](const auto& each) { return !names.assignable.contains(each); });
    names.values = names.counters;
  }
  for (const std::string& each : names.values) {
    if (each.find("Idx.") != std::string::npos) names.counters.insert(each);
  }
  for (const std::string& each : names.arrays) names.values.erase(each);
  for (const std::string& each : names.structures) names.values.erase(each);
  // Bytes, where the host asks for memory.
  names.is_of_host = !source_.in_device_code(site.begin);
  const bool asks_for_bytes =
      names.is_of_host && site.end > site.begin &&
      (runs_kernels_ || source_.has(site.begin, site.end, {"memset", "memcpy"}));
  std::ranges::set_difference(names.values, names.counters,
                              std::inserter(names.sizes, names.sizes.end()));
  names.products = products_at(site, names.sizes);
  if (!asks_for_bytes) return names;
  for (const std::string& each : names.sizes) names.parts.insert({each + " * " + each, each});
  names.parts.insert(names.products.begin(), names.products.end());
  names.bytes = names.sizes;
  for (const std::string& each : names.products) names.bytes.insert(each + " * sizeof(float)");
  if (!source_.has(site.begin, site.end, {"sizeof"})) names.sizes.insert("sizeof(float)");
  return names;
}

// The products of sizes alone in its function, and each size.
std::set<std::string> EditableFile::products_at(const Site& site,
                                                const std::set<std::string>& sizes) const {
  constexpr std::size_t kMostProducts = 24;
  std::set<std::string> products = sizes;
  for (const Site& each : outline_.sites) {
    if (each.function != site.function) continue;
    const std::vector<Atom> atoms = atoms_in(source_, each.begin, each.end);
    for (std::size_t a = 0; a < atoms.size(); ++a) {
      for (std::size_t b = a; b < atoms.size(); ++b) {
        const bool goes_on =
            b == a || (atoms[b - 1].end + 1 == atoms[b].begin && source_.is(atoms[b - 1].end, "*"));
        if (!goes_on || !sizes.contains(source_.text(atoms[b].begin, atoms[b].end))) break;
        products.insert(source_.text(atoms[a].begin, atoms[b].end));
        if (products.size() >= kMostProducts) return products;
      }
    }
  }
  return products;
}

}  // namespace convlab::grader::mend
