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
constexpr int kWhole = kSize;
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

std::string tile_text(int tile, const std::string& of) {
  return tile == kWhole ? "rows and columns of " + of + " are exchanged"
                        : "rows and columns are exchanged in each " + number(tile) + " × " +
                              number(tile) + " part of " + of;
}

Fact fact_of(const std::string& id, const std::string& what, const std::string& next) {
  return {.id = id,
          .measured = "Measured with two matrices of " + number(kSize) + " × " + number(kSize) +
                      " (M = C = W = " + number(kSize) + ", K = 1): " + what + ".",
          .cause = sentence(what),
          .next = next};
}

}  // namespace

std::optional<Fact> find_matrix_mistake(Program& program, bool few_bits) {
  const DenseRun run = run_dense(program, {1, kSize, kSize, 1, kSize, 1, 1}, few_bits);
  if (run.answer.kind != Answer::Kind::kNumbers || run.is_right()) return std::nullopt;
  const Matrix weights = matrix_of(run.weights);
  const Matrix input = matrix_of(run.input);
  const Matrix got(run.answer.output.begin(), run.answer.output.end());
  if (product(weights, weights) == got) {
    return fact_of(
        "E-terms", "the weights are multiplied by themselves, the input is not used",
        "Look for a load or an argument that names the weights where the input belongs.");
  }
  if (product(input, input) == got) {
    return fact_of("E-terms", "the input is multiplied by itself, the weights are not used",
                   "Look for a load or an argument that names the input where the weights belong.");
  }
  if (product(input, weights) == got) {
    return fact_of("E-index", "the two factors are exchanged: input times weights",
                   "A product of matrices has an order: rows of the weights times columns of the "
                   "input.");
  }
  constexpr std::array kTiles = {1, 8, 16, kWhole};
  const std::string next =
      "Compare the order of the two indices where the tile is filled with that where it is read: "
      "[row][column], threadIdx.y and threadIdx.x, row_major and col_major.";
  for (const int of_result : kTiles) {
    for (const int of_weights : kTiles) {
      for (const int of_input : kTiles) {
        const Matrix result =
            with_tiles_transposed(product(with_tiles_transposed(weights, of_weights),
                                          with_tiles_transposed(input, of_input)),
                                  of_result);
        if (result != got) continue;
        if (of_result > 1 && of_result == of_weights && of_result == of_input) {
          return fact_of("E-index",
                         "the two factors are exchanged in each " + number(of_result) + " × " +
                             number(of_result) + " product: input times weights",
                         "A product of matrices has an order: rows of the weights times columns "
                         "of the input. Look at the two loads and at the product.");
        }
        std::vector<std::string> parts;
        if (of_weights > 1) parts.push_back(tile_text(of_weights, "the weights"));
        if (of_input > 1) parts.push_back(tile_text(of_input, "the unrolled input"));
        if (of_result > 1) parts.push_back(tile_text(of_result, "the result"));
        Fact fact = fact_of("E-tile-transposed", joined(parts, "; "), next);
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
  // Neighbouring groups of rows exchanged, as by two registers of a fragment.
  enum class Side { kInner, kMaps, kColumns };
  for (const auto& [side, what] : {std::pair{Side::kInner, "taps of one factor"},
                                   {Side::kMaps, "maps of the result"},
                                   {Side::kColumns, "columns of the result"}}) {
    for (int group = 1; group < kSize; group *= 2) {
      const Matrix& from = side == Side::kInner ? input : product(weights, input);
      Matrix exchanged(from.size());
      for (int row = 0; row < kSize; ++row) {
        for (int column = 0; column < kSize; ++column) {
          exchanged[at(row, column)] = side == Side::kColumns ? from[at(row, column ^ group)]
                                                              : from[at(row ^ group, column)];
        }
      }
      if ((side == Side::kInner ? product(weights, exchanged) : exchanged) != got) continue;
      return fact_of("E-index",
                     "neighbouring " + (group == 1 ? "" : "groups of " + number(group) + " ") +
                         what + " are exchanged",
                     "Compare the two places where groups are made, such as the components of a "
                     "vector, or the registers of a fragment with the table of its instruction.");
    }
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
  const std::string arrays = joined(unused, " or ");
  return Fact{.id = "E-terms",
              .measured = "Measured at " + to_string(run.shape) + ": other numbers in " + arrays +
                          " change no output." + neighbourhood(run),
              .product = WrongProduct{.shape = run.shape, .pixel = 0, .weight = 0, .factor = 0.0},
              .cause = "The output does not depend on " + arrays + ".",
              .next = "Follow " + arrays +
                      " from the argument to the line that multiplies: which copy, load or "
                      "argument names another array, and what overwrites it on the way?"};
}

}  // namespace convlab::grader::probe
