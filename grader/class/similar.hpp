#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace convlab::grader {

struct OwnedSource {
  std::string owner{};
  std::string path{};
  std::string text{};
};

/// Lines of two sources that are the same after renaming.
struct SharedPlace {
  std::string path_a{};
  int first_a = 0;
  int last_a = 0;
  std::string path_b{};
  int first_b = 0;
  int last_b = 0;
};

/// Two owners whose sources are alike.
struct SimilarPair {
  std::string a{};
  std::string b{};
  double share = 0.0;  ///< shared fingerprints, divided by those of the owner with fewer
  std::size_t shared = 0;
  std::vector<SharedPlace> places{};  ///< longest first
};

/// Finds similar sources, even if names, numbers, layout and comments were changed or code was
/// moved into macros: texts become tokens, in which macros are expanded and all names are equal,
/// and any 24 common tokens share a fingerprint.
/// @param sources   of one owner headers first: their macros hold in what follows
/// @param excluded  texts that all students have; their fingerprints do not count
/// @param least     smallest share that is reported, 0 to 1
/// @return pairs, the most alike first; they only show where to look
/// Source: Schleimer, Wilkerson, Aiken, Winnowing, SIGMOD 2003.
std::vector<SimilarPair> similar_pairs(const std::vector<OwnedSource>& sources,
                                       const std::vector<OwnedSource>& excluded, double least);

}  // namespace convlab::grader
