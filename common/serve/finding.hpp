#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/serve/seen.hpp"

namespace convlab {

/// A product that was measured to be wrong, or an output: what a traced program is watched for.
struct WrongProduct {
  ConvShape shape{};
  std::int64_t output = 0;  ///< flat indices
  std::int64_t pixel = -1;  ///< the right ones; -1: the output as a whole
  std::int64_t weight = -1;
  std::int64_t other_pixel = -1;  ///< that is used instead; -1: the right one, or none
  std::int64_t other_weight = -1;
  double factor = 1.0;  ///< how often it counts

  friend bool operator==(const WrongProduct&, const WrongProduct&) = default;
};

/// A small change of a file that makes every case right, or all but those that are wrong for a
/// reason of their own.
struct Mend {
  std::string file{};
  std::vector<std::size_t> lines{};
  std::string kind{};    ///< "the comparison"
  std::string before{};  ///< what changes; a line for each place
  std::string after{};
  std::string rest{};  ///< what is wrong then, in which case; empty: every case is right

  friend bool operator==(const Mend&, const Mend&) = default;
};

/// One thing that is wrong. It is made where the fault is seen, with what is known there: id,
/// variant and values; its texts are those of findings.txt. Nobody decides by a text.
struct Finding {
  std::string id{};       ///< "E-nan", see docs/diagnoses.md
  std::string variant{};  ///< "E-outside/freed": what is known beyond the id; may be empty
  std::vector<std::string> values{};  ///< of the variant
  std::string title{};                ///< what is wrong, in a few words
  Seen seen{};                        ///< where and what: numbers, and lines of the source
  std::string smallest{};   ///< the smallest case that fails: "B=1 M=2 …"; empty: unknown
  bool may_shrink = false;  ///< a smaller case may fail, too: the search did not come to its end
  std::optional<ConvShape> smallest_shape{};  ///< the same; not stored
  std::string alone{};                    ///< the option that runs it alone: "--case 1,2,1,5,6,3,1"
  std::string shapes{};                   ///< at which shapes it fails: sentences, a line each
  std::string picture{};                  ///< the pixels of one window, expected and found: lines
  std::optional<WrongProduct> product{};  ///< an example; not stored
  bool is_proved = false;                 ///< a measured index or rounding explains it
  std::string cause{};                    ///< what it usually means
  std::string next{};                     ///< one next step
  std::string compiler{};     ///< the compiler's warnings about the same files, a line each
  std::vector<Mend> mends{};  ///< small changes of the file that make every case right
  std::string stage{};        ///< empty if it concerns the whole program

  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace convlab
