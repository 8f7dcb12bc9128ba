#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace convlab::grader {

/// A source with the one who handed it in.
struct OwnedSource {
  std::string owner{};
  std::string path{};
  std::string text{};
};

/// Lines of two sources that say the same after renaming.
struct SharedPlace {
  std::string path_a{};
  int first_a = 0;
  int last_a = 0;
  std::string path_b{};
  int first_b = 0;
  int last_b = 0;

  friend bool operator==(const SharedPlace&, const SharedPlace&) = default;
};

/// Two owners whose sources are alike.
struct SimilarPair {
  std::string a{};
  std::string b{};
  double share = 0.0;  ///< shared fingerprints over those of the one who has fewer
  std::size_t shared = 0;
  std::vector<SharedPlace> places{};  ///< longest first
};

/// Finds sources that are alike after names, numbers, layout and comments were changed. Texts
/// become tokens, in which every name is the same; the fingerprints of a text are hashes of
/// neighbouring tokens, of which each window keeps its smallest, so that any 24 tokens in common
/// share at least one. A pair is a place to look at: two students may have found the same loops.
/// @param excluded  texts that all have: the hand-out, the reference; their fingerprints count for
///   nobody
/// @param least     share from which on a pair is reported, 0 to 1
/// @return pairs, the most alike first
/// Source: Schleimer, Wilkerson, Aiken, Winnowing, SIGMOD 2003.
std::vector<SimilarPair> similar_pairs(const std::vector<OwnedSource>& sources,
                                       const std::vector<OwnedSource>& excluded, double least);

}  // namespace convlab::grader
