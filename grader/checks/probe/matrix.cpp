#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "grader/checks/probe/fact_texts.hpp"
#include "grader/checks/probe/finders.hpp"

namespace convlab::grader::probe {

namespace {

constexpr int kSize = 32;
using Matrix = std::vector<double>;  // row-major

std::size_t at(int row, int column) {
  return static_cast<std::size_t>(row * kSize + column);
}

Matrix matrix_of(const Numbers& numbers) {
  return {numbers.begin(), numbers.begin() + numbers.size()};
}

// Rows and columns exchanged in each tile × tile part; 1: as it is.
Matrix with_tiles_transposed(const Matrix& from, int tile) {
  Matrix to(from.size());
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      const int first_row = row / tile * tile;
      const int first_column = column / tile * tile;
      to[at(first_row + column - first_column, first_column + row - first_row)] =
          from[at(row, column)];
    }
  }
  return to;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.size(), 0.0);
  for (int row = 0; row < kSize; ++row) {
    for (int k = 0; k < kSize; ++k) {
      for (int column = 0; column < kSize; ++column) {
        result[at(row, column)] += a[at(row, k)] * b[at(k, column)];
      }
    }
  }
  return result;
}

std::string tiles_text(int tile) {
  return number(tile) + " × " + number(tile);
}

// Neighbouring groups of rows, or of columns, exchanged, as by two registers of a fragment.
Matrix exchanged(const Matrix& from, int row_group, int column_group) {
  Matrix to(from.size());
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      to[at(row, column)] = from[at(row ^ row_group, column ^ column_group)];
    }
  }
  return to;
}

}  // namespace

std::optional<Fact> find_matrix_mistake(Program& program, bool few_bits) {
  const DenseRun run = run_dense(program, {1, kSize, kSize, 1, kSize, 1, 1}, few_bits);
  if (run.answer.kind != Answer::Kind::kNumbers || run.is_right()) return std::nullopt;
  const Matrix weights = matrix_of(run.weights);
  const Matrix input = matrix_of(run.input);
  const Matrix got(run.answer.output.begin(), run.answer.output.end());
  constexpr std::array kTiles = {1, 8, 16, kSize};
  for (const int of_result : kTiles) {
    for (const int of_weights : kTiles) {
      for (const int of_input : kTiles) {
        const Matrix result =
            with_tiles_transposed(product(with_tiles_transposed(weights, of_weights),
                                          with_tiles_transposed(input, of_input)),
                                  of_result);
        if (result != got) continue;
        if (of_result > 1 && of_result == of_weights && of_result == of_input) {
          return told("E-index/factors-exchanged", {tiles_text(of_result)});
        }
        std::vector<std::string> parts;
        for (const auto& [tile, matrix] : {std::pair{of_weights, "the weights"},
                                           {of_input, "the unrolled input"},
                                           {of_result, "the result"}}) {
          if (tile > 1) parts.push_back(tiles_text(tile) + " part of " + matrix);
        }
        Fact fact = told("E-tile-transposed/measured", {joined(parts, " and in each ")});
        // Elements (0, 1) and (1, 0) are exchanged.
        fact.product = WrongProduct{.shape = run.shape, .output = 1};
        if (of_result <= 1 && of_input > 1) {
          fact.product->weight = 0, fact.product->pixel = 1, fact.product->other_pixel = kSize;
        } else if (of_result <= 1) {
          fact.product->output = 0;
          fact.product->weight = 1, fact.product->pixel = kSize, fact.product->other_weight = kSize;
        }
        return fact;
      }
    }
  }
  const Matrix right = product(weights, input);
  for (int group = 1; group < kSize; group *= 2) {
    const char* what = product(weights, exchanged(input, group, 0)) == got ? "taps of one factor"
                       : exchanged(right, group, 0) == got                 ? "maps of the result"
                       : exchanged(right, 0, group) == got                 ? "columns of the result"
                                                                           : nullptr;
    if (what == nullptr) continue;
    const std::string groups = group == 1 ? "" : "groups of " + number(group) + " ";
    return told("E-index/neighbours-exchanged", {groups + what});
  }
  return std::nullopt;
}

std::optional<Fact> find_unused_array(Program& program, const DenseRun& run, bool few_bits) {
  // Infinity hides the numbers behind it.
  const auto is_finite = [](float each) { return std::isfinite(each); };
  if (!std::ranges::all_of(run.answer.output, is_finite)) return std::nullopt;
  const DenseRun other = run_dense(program, run.shape, few_bits, 4);
  std::vector<std::string> unused;
  for (const bool input : {true, false}) {
    const Answer mixed = program.run(run.shape, input ? other.input : run.input,
                                     input ? run.weights : other.weights);
    if (mixed.kind == Answer::Kind::kNumbers && mixed.output == run.answer.output) {
      unused.push_back(input ? "the input" : "the weights");
    }
  }
  if (unused.empty()) return std::nullopt;
  Fact fact = told("E-terms/unused-array", {joined(unused, " or "), to_string(run.shape)});
  fact.measured += neighbourhood(run);
  fact.product = WrongProduct{.shape = run.shape, .pixel = 0, .weight = 0, .factor = 0.0};
  return fact;
}

}  // namespace convlab::grader::probe
