#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/precision.hpp"
#include "common/serve/finding_texts.hpp"
#include "grader/checks/probe/explanation.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

/// Something that a rule may ask about: a name and its value in each sample.
struct Feature {
  std::string name{};
  std::vector<std::int64_t> values{};
  std::string end{};         ///< what the values are counted from: "C" makes "c = C - 1" of -1
  bool only_bounds = false;  ///< single values in the middle mean nothing
  bool is_flag = false;      ///< 0 or 1, and the name says it all
  std::string otherwise{};   ///< what a flag of 0 says; empty: nothing
  int cost = 1;
  /// Of a product: its b, m, h, w, c, p or q alone, or what is left of it; 'o' the place of its
  /// output in a map, 'n' its column in an unrolled matrix, 't' its tap. Of a shape: the row of its
  /// size in their table. 0: another one.
  char variable = 0;
  int tile = 0;  ///< the values are what is left of a division by this
};

/// The rules without exception, the simplest first. @param most  how many at most
std::vector<Rule> find_rules(const std::vector<Feature>& features, const std::vector<bool>& marked,
                             std::size_t most = 1);

/// For which of these samples a rule of others holds.
std::vector<bool> where_it_holds(const Rule& rule, const std::vector<Feature>& features);

/// Features of a product; those of an output if there are no taps.
std::vector<Feature> features_of(const ConvShape& s, const std::vector<Label>& labels, bool taps);

/// Of one shape: what rules may ask about, and which samples are meant.
struct Samples {
  std::vector<Feature> features;
  std::vector<bool> marked;
};

/// The simplest rule for what is marked, at all shapes; empty if none, or if all are marked.
Rule common_rule(const std::vector<Samples>& all);

// What whole runs tell of their sums, without a look at the products.

/// If most wrong outputs hold the right sum of another one: how many, and an example.
std::string moved_sums(const DenseRun& run);

/// Right sums, stored elsewhere.
std::optional<Explanation> find_moved_sums(const std::vector<DenseRun>& runs);

/// Every element is a function of its right sum.
std::optional<Explanation> find_function(const std::vector<DenseRun>& runs);

/// Each wrong output has, in addition, the value of another one.
std::optional<Explanation> find_carried_sum(const std::vector<DenseRun>& runs);

/// One pixel times one weight: for which numbers the product is right.
std::optional<Explanation> find_one_product(Program& program);

/// What a call takes over from an earlier call.
std::optional<Explanation> find_kept(Program& program, const ConvShape& shape);

/// Right outputs but for those that are never written: which ones.
std::optional<Explanation> find_unwritten(const std::vector<DenseRun>& all);

/// In slices: which image's sums stand where, from the first wrong image on.
std::optional<Explanation> find_moved_images(const DenseRun& run);

/// Of products that are all right: which are missing, or count several times.
std::optional<Explanation> find_counts(const std::vector<LabelledTerms>& all);

/// One pixel and one weight at a time: which products count how often where sums are mixed.
std::optional<Explanation> find_factors(Program& program);

/// Computes one product of matrices, 32 × 32 each, and looks for what products in tiles do wrong as
/// a whole: rows and columns of a tile exchanged, a matrix used in place of the other one.
std::optional<Explanation> find_matrix_mistake(Program& program);

/// An array without any influence on the output. @param run  a wrong one
std::optional<Explanation> find_unused_array(Program& program, const DenseRun& run);

/// Measures what the program computes at those of these shapes at which it is wrong, three at most;
/// what has a name holds at all of them.
/// @param must       a shape whose numbers the fact must explain, too, if it tells of all sums
/// @param any_shape  else the program promises that shape only, and every fact must explain it
std::optional<Explanation> find_fact(Program& program, const std::vector<ConvShape>& shapes,
                                     const std::optional<ConvShape>& must = {},
                                     bool any_shape = true);

/// The same without a look at single products: what the numbers of one run at a larger shape tell.
std::optional<Explanation> find_in_large(Program& program, const ConvShape& shape);

/// With the last row of each filter only: a wrong product of the first wrong output, and a rule.
std::optional<Explanation> find_in_row(Program& program, const ConvShape& shape);

/// Of wrong pixels: whether a map of the output is taken for rows of another length (i / H_out).
std::optional<Explanation> find_output_rows(const std::vector<LabelledTerms>& all);

/// Of wrong pixels: whether a tile, from pixel (0, 0) on, is read with rows of another length.
std::optional<Explanation> find_tile_rows(const std::vector<LabelledTerms>& all);

/// Whether small whole numbers, exact in bfloat16, come out nearly right: then no index is wrong.
bool only_rounds(Program& program, const std::vector<ConvShape>& shapes);

/// What a program rounds that only rounds: one example that can be followed by hand, and its cause.
/// @param shape        with three taps at least
/// @param may_be_half  its class allows input and weights of 11 bits
Explanation measure_rounding(Program& program, const ConvShape& shape, bool may_be_half);

/// The class that its roundings show; nothing if it computes something else.
std::optional<Precision> precision_of(Program& program, const ConvShape& shape);

/// Whether small numbers come out right and large ones as infinity.
std::optional<Explanation> find_overflow(Program& program, const ConvShape& shape);

/// At which shapes a program fails.
struct ShapeStudy {
  ConvShape smallest{};     ///< that fails in the same way
  bool may_shrink = false;  ///< else it is right with one less of any of its sizes
  std::string rule{};  ///< it fails exactly if this holds; empty: none that fresh shapes confirmed
  int tried = 0;       ///< shapes, at all of which the rule holds
  bool needs_stride = false;  ///< right at all shapes without one, of which there were many
};

/// Shrinks a shape at which the program fails, then compares shapes around it. A rule is kept only
/// if it predicts what the program does at shapes that it was not made from.
/// @return nothing if the program does not fail again, or this shape is too large to be tried often
std::optional<ShapeStudy> study_shapes(Program& program, const ConvShape& failing);

/// The smallest shape that the study finds.
std::optional<ConvShape> smallest_failing(Program& program, const ConvShape& failing);

/// "1,2,1,5,6,3,1": as --case takes it.
std::string case_text(const ConvShape& shape);

}  // namespace convlab::grader::probe
