#include "grader/class/similar.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::grader {

namespace {

constexpr std::size_t kTokens = 12;  // in one fingerprint
constexpr std::size_t kWindow = 13;  // any kTokens + kWindow - 1 = 24 tokens leave a fingerprint

struct Token {
  std::string text;
  int line = 0;
  int directive = 0;  // of the preprocessor, that it stands in; 0 for none
};

// A name, or a number.
bool is_name(const Token& token) {
  const char c = token.text.front();
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

// Words with a fixed meaning; any other name could be renamed.
bool is_keyword(const std::string& word) {
  static const std::set<std::string> keywords = {
      "if",       "else",       "for",          "while",      "do",           "return",
      "switch",   "case",       "break",        "continue",   "float",        "double",
      "int",      "half",       "const",        "constexpr",  "struct",       "class",
      "template", "__global__", "__shared__",   "__device__", "__constant__", "threadIdx",
      "blockIdx", "blockDim",   "__syncthreads"};
  return keywords.count(word) > 0;
}

// The tokens of a text without comments; all texts between quotes are equal.
std::vector<Token> words_of(std::string text) {
  for (const auto& [digraph, sign] :
       {std::pair{"<:", "[ "}, {":>", "] "}, {"<%", "{ "}, {"%>", "} "}, {"%:", "# "}}) {
    for (auto at = text.find(digraph); at != std::string::npos; at = text.find(digraph, at)) {
      text.replace(at, 2, sign);
    }
  }
  using Kind = rewrite::Token::Kind;
  std::vector<Token> tokens;
  for (const rewrite::Token& token : rewrite::tokenize(text)) {
    const bool is_text = token.kind == Kind::kString || token.kind == Kind::kCharacter;
    tokens.push_back(
        {is_text ? "\"" : std::string(token.text), static_cast<int>(token.line), token.directive});
  }
  return tokens;
}

/// Puts the bodies of macros where they are used, so that they hide no code. Knows those of earlier
/// texts, too: of a student's headers.
class Macros {
 public:
  // Leaves all lines of the preprocessor out. @param defines  keeps the definitions
  std::vector<Token> expanded(const std::vector<Token>& words, bool defines) {
    budget_ = kMostTokens;
    std::vector<Token> code;
    std::vector<Token> result;
    for (auto word = words.begin(); word != words.end();) {
      if (word->directive == 0) {
        code.push_back(*word++);
        continue;
      }
      const auto end = std::find_if(word, words.end(), [&](const Token& token) {
        return token.directive != word->directive;
      });
      // A name may become another macro further down.
      append(code, 0, result);
      code.clear();
      if (defines) define({word, end});
      word = end;
    }
    append(code, 0, result);
    return result;
  }

 private:
  struct Macro {
    bool has_parameters = false;
    std::vector<std::string> parameters{};
    std::vector<Token> body{};
  };

  // # define NAME ( A , B ) …
  void define(const std::vector<Token>& line) {
    if (line.size() < 3) return;
    if (line[1].text == "undef") macros_.erase(line[2].text);
    if (line[1].text != "define") return;
    Macro macro;
    std::size_t at = 3;
    macro.has_parameters = at < line.size() && line[at].text == "(";
    for (; macro.has_parameters && at < line.size(); ++at) {
      if (is_name(line[at])) macro.parameters.push_back(line[at].text);
      if (line[at].text == ")") break;
    }
    if (macro.has_parameters) ++at;
    for (; at < line.size(); ++at) macro.body.push_back(line[at]);
    macros_[line[2].text] = std::move(macro);
  }

  // A macro in a macro in a macro … and a text that grows without end stop somewhere.
  void append(const std::vector<Token>& code, int depth, std::vector<Token>& result) {
    constexpr int kDeepest = 16;
    for (std::size_t i = 0; i < code.size() && budget_ > 0; ++i) {
      --budget_;
      const auto found = macros_.find(code[i].text);
      const bool called = i + 1 < code.size() && code[i + 1].text == "(";
      if (found == macros_.end() || depth == kDeepest ||
          (found->second.has_parameters && !called)) {
        result.push_back(code[i]);
        continue;
      }
      const Macro& macro = found->second;
      const int line = code[i].line;
      std::vector<std::vector<Token>> values(1);
      int open = 0;
      while (macro.has_parameters && ++i < code.size()) {
        if (code[i].text == ")" && --open == 0) break;
        if (code[i].text == "," && open == 1) {
          values.emplace_back();
        } else if (open > 0) {
          values.back().push_back(code[i]);
        }
        if (code[i].text == "(") ++open;
      }
      std::vector<Token> body;
      for (const Token& token : macro.body) {
        const auto which = std::ranges::find(macro.parameters, token.text);
        const auto number = static_cast<std::size_t>(which - macro.parameters.begin());
        if (which == macro.parameters.end() || number >= values.size()) {
          body.push_back({token.text, line});
        } else {
          body.insert(body.end(), values[number].begin(), values[number].end());
        }
        if (body.size() > budget_) break;
      }
      budget_ -= std::min(budget_, body.size());
      append(body, depth + 1, result);
    }
  }

  std::map<std::string, Macro> macros_;
  static constexpr std::size_t kMostTokens = 1'000'000;  // also those that come to nothing
  std::size_t budget_ = 0;
};

// Names, numbers and texts become equal tokens. What a file may have more or less of without a
// change goes: empty statements, brackets around one statement.
std::vector<Token> without_choices(std::vector<Token> tokens) {
  std::erase_if(tokens, [](const Token& token) {
    return token.text == ";" || token.text == "{" || token.text == "}";
  });
  for (Token& token : tokens) {
    const char c = token.text.front();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      token.text.assign(1, '0');
    } else if (is_name(token) && !is_keyword(token.text)) {
      token.text.assign(1, 'n');
    }
  }
  return tokens;
}

struct Fingerprint {
  std::size_t hash = 0;
  int first = 0;  // lines
  int last = 0;
  std::size_t source = 0;
};

// Each token ends with a zero byte.
std::size_t hash_of(const std::vector<Token>& tokens, std::size_t begin) {
  std::string text;
  for (std::size_t i = begin; i < begin + kTokens; ++i) text += tokens[i].text + '\0';
  return std::hash<std::string>()(text);
}

void add_fingerprints(const std::vector<Token>& tokens, std::vector<Fingerprint>& kept) {
  std::vector<Fingerprint> all;
  for (std::size_t i = 0; i + kTokens <= tokens.size(); ++i) {
    all.push_back({hash_of(tokens, i), tokens[i].line, tokens[i + kTokens - 1].line});
  }
  // Of each window the smallest, the last one of equals; each place once.
  std::size_t last = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t end = std::min(all.size(), i + kWindow);
    std::size_t best = i;
    for (std::size_t k = i; k < end; ++k) {
      if (all[k].hash <= all[best].hash) best = k;
    }
    if (best != last) kept.push_back(all[last = best]);
    if (end == all.size()) break;
  }
}

// With macros and without: one hides code, another that is never used hides it from who expands it.
std::vector<Fingerprint> fingerprints_of(const std::string& text, Macros& macros) {
  const std::vector<Token> words = words_of(text);
  std::vector<Fingerprint> kept;
  add_fingerprints(without_choices(macros.expanded(words, true)), kept);
  add_fingerprints(without_choices(Macros().expanded(words, false)), kept);
  return kept;
}

// Neighbouring places become one.
std::vector<SharedPlace> joined(std::vector<SharedPlace> places) {
  std::ranges::sort(places, [](const SharedPlace& a, const SharedPlace& b) {
    return std::tie(a.path_a, a.path_b, a.first_a) < std::tie(b.path_a, b.path_b, b.first_a);
  });
  std::vector<SharedPlace> result;
  constexpr int kGap = 3;
  for (const SharedPlace& place : places) {
    SharedPlace* last = result.empty() ? nullptr : &result.back();
    if (last != nullptr && last->path_a == place.path_a && last->path_b == place.path_b &&
        place.first_a <= last->last_a + kGap && place.first_b <= last->last_b + kGap &&
        place.last_b + kGap >= last->first_b) {
      last->last_a = std::max(last->last_a, place.last_a);
      last->first_b = std::min(last->first_b, place.first_b);
      last->last_b = std::max(last->last_b, place.last_b);
    } else {
      result.push_back(place);
    }
  }
  std::ranges::stable_sort(result, [](const SharedPlace& a, const SharedPlace& b) {
    return a.last_a - a.first_a > b.last_a - b.first_a;
  });
  return result;
}

}  // namespace

std::vector<SimilarPair> similar_pairs(const std::vector<OwnedSource>& sources,
                                       const std::vector<OwnedSource>& excluded, double least) {
  std::set<std::size_t> known;
  for (const OwnedSource& source : excluded) {
    Macros macros;
    for (const Fingerprint& each : fingerprints_of(source.text, macros)) known.insert(each.hash);
  }
  std::map<std::string, std::map<std::size_t, Fingerprint>> by_owner;
  std::map<std::size_t, std::set<std::string>> owners;
  std::map<std::string, Macros> macros;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (Fingerprint each : fingerprints_of(sources[i].text, macros[sources[i].owner])) {
      if (known.count(each.hash) > 0) continue;
      each.source = i;
      by_owner[sources[i].owner].try_emplace(each.hash, each);
      owners[each.hash].insert(sources[i].owner);
    }
  }
  std::map<std::pair<std::string, std::string>, SimilarPair> pairs;
  for (const auto& [hash, names] : owners) {
    for (auto a = names.begin(); a != names.end(); ++a) {
      for (auto b = std::next(a); b != names.end(); ++b) {
        SimilarPair& pair = pairs[{*a, *b}];
        ++pair.shared;
        const Fingerprint& at_a = by_owner[*a].at(hash);
        const Fingerprint& at_b = by_owner[*b].at(hash);
        pair.places.push_back({sources[at_a.source].path, at_a.first, at_a.last,
                               sources[at_b.source].path, at_b.first, at_b.last});
      }
    }
  }
  std::vector<SimilarPair> result;
  for (auto& [names, pair] : pairs) {
    pair.a = names.first;
    pair.b = names.second;
    const std::size_t fewer = std::min(by_owner[pair.a].size(), by_owner[pair.b].size());
    pair.share = static_cast<double>(pair.shared) / static_cast<double>(fewer);
    if (pair.share < least) continue;
    pair.places = joined(std::move(pair.places));
    result.push_back(std::move(pair));
  }
  std::ranges::stable_sort(result, [](const SimilarPair& a, const SimilarPair& b) {
    return std::tie(a.share, a.shared) > std::tie(b.share, b.shared);
  });
  return result;
}

}  // namespace convlab::grader
