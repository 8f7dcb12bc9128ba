#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

namespace {

using Names = std::vector<std::string>;

/// A list of symbols.txt, such as "refused".
const Names& names(const std::string& list) {
  static const auto lists = [] {
    std::map<std::string, Names> all;
    Names* current = nullptr;
    for (const std::string& line :
         lines_of(read_text(CONVLAB_SOURCE_DIR "/grader/submission/symbols.txt"))) {
      if (line.starts_with('[')) current = &all[line.substr(1, line.find(']') - 1)];
      if (line.starts_with('[') || line.starts_with('#')) continue;
      std::istringstream words(line);
      for (std::string word; words >> word;) current->push_back(word);
    }
    return all;
  }();
  return lists.at(list);
}

// What build_custom_submission.sh adds to the symbols.
constexpr std::string_view kInstruction = "system-call-instruction";

bool contains(const Names& all, std::string_view name) {
  return std::ranges::find(all, name) != all.end();
}

bool begins_with_one(const Names& all, std::string_view name) {
  return std::ranges::any_of(all, [&](const std::string& each) { return name.starts_with(each); });
}

// "13serve_request…" is "serve_request"; nothing if it does not begin with a length.
std::string_view counted_name(std::string_view name) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), length);
  return error == std::errc() ? name.substr(static_cast<std::size_t>(end - name.data()), length)
                              : std::string_view();
}

/// A function or class of the workbook.
struct OwnName {
  bool is_emulation = false;
  std::string_view name{};
};

std::optional<OwnName> own_name(std::string_view symbol) {
  for (const std::string_view scope : {"_ZN7convlab", "_ZNK7convlab"}) {
    if (!symbol.starts_with(scope)) continue;
    symbol.remove_prefix(scope.size());
    constexpr std::string_view kEmulation = "9emulation";
    const bool is_emulation = symbol.starts_with(kEmulation);
    return OwnName{is_emulation, counted_name(symbol.substr(is_emulation ? kEmulation.size() : 0))};
  }
  return std::nullopt;
}

bool is_refused(std::string_view name) {
  // Variables inside functions; those of headers are defined where they are used.
  if (begins_with_one({"_ZZN", "_ZGVZN", "_ZTHN", "_ZTWN"}, name)) {
    const std::string_view scope = name.substr(name.find('N'));
    if (scope.starts_with("N7convlab") || scope.starts_with("NK7convlab")) return true;
  }
  const auto own = own_name(name);
  return (own && !contains(names(own->is_emulation ? "emulation" : "workbook"), own->name)) ||
         contains(names("refused"), name) || begins_with_one(names("refused beginnings"), name);
}

// Whether a file replaces what the grader relies on: a hook, or a function of the emulated device,
// none of which is inline. Classes, and the functions of PTX, are.
bool replaces_the_workbook(std::string_view name) {
  if (begins_with_one(names("hooks"), name)) return true;
  const auto own = own_name(name);
  return own && own->is_emulation && contains(names("emulation"), own->name) &&
         own->name != "ptx" && std::islower(static_cast<unsigned char>(own->name.front())) != 0;
}

}  // namespace

std::string readable_symbol(const std::string& name) {
  // Forty more characters, which refer back to parts, make the text a thousand times longer.
  constexpr std::size_t kLongest = 200;
  constexpr std::size_t kShown = 80;
  int status = -1;
  const std::unique_ptr<char, decltype(&std::free)> text(
      name.size() > kLongest ? nullptr
                             : abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
      &std::free);
  const std::string readable = status == 0 ? text.get() : name;
  return readable.size() <= kLongest ? printable_line(readable)
                                     : printable_line(readable.substr(0, kShown)) + "…";
}

std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols,
                                                 const std::vector<std::string>& allowed) {
  using enum SymbolProblem::Kind;
  for (const std::string& line : lines_of(symbols)) {
    std::istringstream fields(line);
    std::string name;
    char type = ' ';
    if (!(fields >> name >> type)) continue;
    name.erase(std::min(name.find('@'), name.size()));  // "dlsym@GLIBC_2.2.5" is dlsym
    // What the file defines is its own: the linker makes it local before any other code sees it.
    if (type != 'U' && type != 'w' && type != 'v') {
      if (replaces_the_workbook(name)) return SymbolProblem{kReplaced, readable_symbol(name)};
    } else if (name == kInstruction) {
      return SymbolProblem{kForbidden, "the system by an instruction of its own"};
    } else if (begins_with_one(allowed, name)) {
      continue;
    } else if (begins_with_one(names("libraries"), name)) {
      return SymbolProblem{kLibrary, readable_symbol(name)};
    } else if (is_refused(name)) {
      return SymbolProblem{kForbidden, readable_symbol(name)};
    }
  }
  return std::nullopt;
}

bool calls_library(const std::string& symbols, const std::vector<std::string>& libraries) {
  return std::ranges::any_of(lines_of(symbols), [&](const std::string& line) {
    return line.find(" U ") != std::string::npos && begins_with_one(libraries, line);
  });
}

}  // namespace convlab::grader
