#include "grader/class/similar.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace convlab::grader {

namespace {

constexpr std::size_t kTokens = 12;  // in one fingerprint
constexpr std::size_t kWindow = 13;  // any kTokens + kWindow - 1 = 24 tokens leave a fingerprint

struct Token {
  std::string text;
  int line = 0;
};

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
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

// Removes comments and lines of the preprocessor; names, numbers and texts become equal tokens.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  bool line_begins = true;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto end_of = [&](std::string_view mark, std::size_t from) {
      const auto at = text.find(mark, from);
      return at == std::string_view::npos ? text.size() : at + mark.size();
    };
    std::size_t end = i + 1;
    if (c == '\n') {
      ++line;
      line_begins = true;
      i = end;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      i = end;
      continue;
    }
    if (text.substr(i, 2) == "//" || (c == '#' && line_begins)) {
      end = std::min(text.size(), text.find('\n', i));
    } else if (text.substr(i, 2) == "/*") {
      end = end_of("*/", i + 2);
    } else if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      end = std::min(text.size(), end + 1);
      tokens.push_back({"s", line});
    } else if (is_name(c)) {
      while (end < text.size() && is_name(text[end])) ++end;
      const std::string word(text.substr(i, end - i));
      const bool is_number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      tokens.push_back({is_number ? "0" : is_keyword(word) ? word : "n", line});
    } else {
      tokens.push_back({std::string(1, c), line});
    }
    line_begins = false;
    line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                        text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    i = end;
  }
  return tokens;
}

struct Fingerprint {
  std::uint64_t hash = 0;
  int first = 0;  // lines
  int last = 0;
};

// FNV-1a over the tokens, each ended by a zero byte.
std::uint64_t hash_of(const std::vector<Token>& tokens, std::size_t begin) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211U; };
  for (std::size_t i = begin; i < begin + kTokens; ++i) {
    for (const char c : tokens[i].text) add(static_cast<unsigned char>(c));
    add(0);
  }
  return hash;
}

std::vector<Fingerprint> fingerprints_of(const std::string& text) {
  const std::vector<Token> tokens = tokens_of(text);
  std::vector<Fingerprint> all;
  for (std::size_t i = 0; i + kTokens <= tokens.size(); ++i) {
    all.push_back({hash_of(tokens, i), tokens[i].line, tokens[i + kTokens - 1].line});
  }
  // Of each window the smallest, the last one of equals; each place once.
  std::vector<Fingerprint> kept;
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
  return kept;
}

/// A fingerprint with its source.
struct Place {
  std::size_t source = 0;
  int first = 0;
  int last = 0;
};

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
  std::set<std::uint64_t> known;
  for (const OwnedSource& source : excluded) {
    for (const Fingerprint& each : fingerprints_of(source.text)) known.insert(each.hash);
  }
  std::map<std::string, std::map<std::uint64_t, Place>> by_owner;
  std::map<std::uint64_t, std::set<std::string>> owners;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const Fingerprint& each : fingerprints_of(sources[i].text)) {
      if (known.count(each.hash) > 0) continue;
      by_owner[sources[i].owner].try_emplace(each.hash, Place{i, each.first, each.last});
      owners[each.hash].insert(sources[i].owner);
    }
  }
  std::map<std::pair<std::string, std::string>, SimilarPair> pairs;
  for (const auto& [hash, names] : owners) {
    for (auto a = names.begin(); a != names.end(); ++a) {
      for (auto b = std::next(a); b != names.end(); ++b) {
        SimilarPair& pair = pairs[{*a, *b}];
        ++pair.shared;
        const Place& at_a = by_owner[*a].at(hash);
        const Place& at_b = by_owner[*b].at(hash);
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
