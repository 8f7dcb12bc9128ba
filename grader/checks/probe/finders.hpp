#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/probe/fact.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader::probe {

// What whole runs tell of their sums, without a look at the products.

/// The first wrong output, as a whole.
WrongProduct first_wrong(const DenseRun& run);

/// If most wrong outputs hold the right sum of another one: how many, and an example.
std::string moved_sums(const DenseRun& run);

/// Right sums, stored elsewhere.
std::optional<Fact> find_moved_sums(const std::vector<DenseRun>& runs);

/// Every element is a function of its right sum.
std::optional<Fact> find_function(const std::vector<DenseRun>& runs);

/// Each wrong output has, in addition, the value of another one.
std::optional<Fact> find_carried_sum(const std::vector<DenseRun>& runs);

/// What a call takes over from an earlier call.
/// @param restart  begins a new process
std::optional<Fact> find_kept(Program& program, const std::function<void()>& restart,
                              const ConvShape& shape, bool few_bits);

/// Right outputs but for those that are never written: which ones.
std::optional<Fact> find_unwritten(const std::vector<DenseRun>& all);

/// In slices: which image's sums stand where, from the first wrong image on.
std::optional<Fact> find_moved_images(const DenseRun& run);

/// Of products that are all right: which are missing, or count several times.
std::optional<Fact> find_counts(const std::vector<LabelledTerms>& all);

/// With one pixel and one weight at a time: which products count how often in sums that transforms
/// or lanes make of several pixels.
std::optional<Fact> find_factors(Program& program);

/// Computes one product of matrices, 32 × 32 each: M = C = W = 32, all other sizes 1. Looks for
/// what products in tiles do wrong as a whole: rows and columns of a tile exchanged, a matrix used
/// in place of the other one.
std::optional<Fact> find_matrix_mistake(Program& program, bool few_bits);

/// An array without any influence on the output.
/// @param run  a wrong one
std::optional<Fact> find_unused_array(Program& program, const DenseRun& run, bool few_bits);

/// Measures what the program computes at those of these shapes at which it is wrong, three at most;
/// what has a name holds at all of them.
/// @param must  a shape whose numbers the fact must explain, too, because the others are not those
///              that the program promises
std::optional<Fact> find_fact(Program& program, const std::vector<ConvShape>& shapes, bool few_bits,
                              const std::optional<ConvShape>& must = {});

/// The same without a look at single products: what the numbers of one run at a larger shape tell.
std::optional<Fact> find_in_large(Program& program, const ConvShape& shape, bool few_bits);

/// Of a program that keeps only the last row of each filter: a wrong product of the first wrong
/// output, and which outputs are wrong.
std::optional<Fact> find_in_row(Program& program, const ConvShape& shape);

}  // namespace convlab::grader::probe
