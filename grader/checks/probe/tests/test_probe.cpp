// What the probe says about loops with one thing changed, where no file of the corpus shows it.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/terms.hpp"
#include "grader/checks/probe/wrong_index.hpp"

using namespace convlab;
using namespace convlab::grader::probe;
using convlab::testing::contains;

namespace {

/// Loops over every product, with other indices, factors and stores.
struct Loops : Program {
  Loops() : Program(40) {}

  std::function<std::int64_t(const ConvShape&, const Label&)> input = input_index;
  std::function<std::int64_t(const ConvShape&, const Label&)> weights = weight_index;
  std::function<float(const ConvShape&, const Label&)> factor = [](const ConvShape&, const Label&) {
    return 1.0F;
  };
  std::function<float(float sum, float before)> stored = [](float sum, float) { return sum; };

 private:
  Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
    Answer answer;
    float before = 0.0F;
    for (std::int64_t o = 0; o < s.output_size(); ++o) {
      Label at = output_label(s, o);
      float sum = 0.0F;
      for (at.c = 0; at.c < s.in_channels; ++at.c) {
        for (at.p = 0; at.p < s.kernel; ++at.p) {
          for (at.q = 0; at.q < s.kernel; ++at.q) {
            sum += factor(s, at) * in[input(s, at)] * filter[weights(s, at)];
          }
        }
      }
      before = stored(sum, before);
      answer.output.push_back(before);
    }
    return answer;
  }
};

const std::vector<ConvShape> kShapes = {
    {4, 2, 3, 8, 6, 2, 2}, {3, 5, 2, 7, 9, 3, 1}, {2, 6, 4, 10, 13, 2, 3}, {1, 2, 1, 20, 37, 3, 1}};

Explanation nothing() {
  Explanation none;
  none.id = "none";
  return none;
}

Explanation fact_of(Loops& loops) {
  return find_fact(loops, kShapes).value_or(nothing());
}

bool says(const Explanation& fact, const std::string& words) {
  UNSCOPED_INFO(fact.seen.text() << "\n" << fact.cause);
  return contains(fact.seen.text() + "\n" + fact.cause, words);
}

}  // namespace

TEST_CASE("probe: right loops give no fact, after one run a shape") {
  Loops right;
  CHECK(fact_of(right).id == "none");
  CHECK(right.runs() == static_cast<int>(kShapes.size()));
}

TEST_CASE("probe: one row, whose elements are named as in the puzzle") {
  // A filter with one row: the loops leave the others out.
  const ConvShape shape{1, 1, 2, 5, 260, 5, 1};
  Loops tiles;
  const auto last_row = [](const ConvShape& s, const Label& at) {
    return at.p == s.kernel - 1 ? 1.0F : 0.0F;
  };
  tiles.factor = last_row;
  CHECK_FALSE(find_in_row(tiles, shape));
  tiles.input = [](const ConvShape& s, Label at) {
    at.w %= 64;
    return input_index(s, at);
  };
  auto fact = find_in_row(tiles, shape).value_or(nothing());
  CHECK(fact.id == "E-index");
  CHECK(says(fact,
             "output[64] should multiply filter[0] of channel 0 by input[64] of channel 0; it "
             "multiplies it by input[0] of channel 0"));
  tiles.input = [](const ConvShape& s, Label at) {
    at.c = 1;
    return input_index(s, at);
  };
  CHECK(says(find_in_row(tiles, shape).value_or(nothing()), "by input[0] of channel 1"));
  Loops guard;
  guard.factor = [](const ConvShape& s, const Label& at) {
    return at.p == s.kernel - 1 && at.w + at.q < s.out_width() ? 1.0F : 0.0F;
  };
  fact = find_in_row(guard, shape).value_or(nothing());
  CHECK(fact.id == "E-terms");
  CHECK(says(fact, "Exactly the outputs with i ≥ 252 are wrong"));
}

TEST_CASE(
    "probe: a guard by the size of the other direction; no rule that holds at one shape only") {
  Loops guard;
  guard.factor = [](const ConvShape& s, const Label& at) {
    return at.h * s.stride + at.p < s.width ? 1.0F : 0.0F;
  };
  const auto exchanged = find_fact(guard, {kShapes[0], {2, 3, 2, 11, 5, 3, 1}, kShapes[1]});
  CHECK(says(exchanged.value_or(nothing()), "the products with the row of the pixel ≥ W are"));
  Loops other;
  other.factor = [](const ConvShape& s, const Label& at) {
    return at.h * s.out_width() + at.w < s.out_channels + 5 ? 1.0F : 0.0F;
  };
  const Explanation fact = fact_of(other);
  CHECK(fact.id == "E-terms");
  CHECK_FALSE(says(fact, "products with"));
  CHECK(says(fact, " products of B="));
}

TEST_CASE("probe: outputs of a product of matrices are counted through all images") {
  Loops odd;
  odd.factor = [](const ConvShape& s, const Label& at) {
    return ((at.b * s.out_height() + at.h) * s.out_width() + at.w) % 8 < 4 ? 1.0F : 0.0F;
  };
  CHECK(says(fact_of(odd), "the column of the product, (b·H_out + h)·W_out + w, % 8 ≥ 4"));
}

TEST_CASE("probe: a sum that is not set to zero") {
  Loops kept;
  kept.stored = [](float sum, float before) { return sum + before; };
  const Explanation fact = fact_of(kept);
  CHECK(fact.id == "E-sum-kept");
  CHECK(says(fact, "before it in memory"));
}

TEST_CASE("probe: what is said of whole sums is what they are") {
  Loops bias;
  bias.stored = [](float sum, float) { return sum + 2.0F; };
  CHECK(says(fact_of(bias), "2 is added to every sum"));
  Loops zeros;
  zeros.stored = [](float, float) { return 0.0F; };
  CHECK(fact_of(zeros).title == "every output is 0");
  // What does not hold of the case that failed is not said of every output.
  Loops nearly;
  nearly.factor = [](const ConvShape& s, const Label&) { return s.height == 30 ? 2.0F : 0.0F; };
  CHECK(fact_of(nearly).title == "every output is 0");
  const auto other = find_fact(nearly, kShapes, ConvShape{1, 1, 1, 30, 6, 3, 1});
  CHECK((!other || other->title != "every output is 0"));
  CHECK((!other || other->cause.empty()));
  // NaN is no right sum of another output.
  Loops lost;
  lost.stored = [](float sum, float) { return sum > 0.0F ? NAN : sum; };
  CHECK_FALSE(says(fact_of(lost), "hold the right sum"));
}

TEST_CASE("probe: an index is named by what it is, not by a letter in it") {
  Loops row_before;
  row_before.input = [](const ConvShape& s, const Label& at) {
    return input_index(s, at) + std::int64_t{at.w} * s.height;
  };
  CHECK(fact_of(row_before).id == "E-index");
  Loops some;
  some.input = [](const ConvShape& s, const Label& at) {
    return input_index(s, at) - (at.c % 2) * std::int64_t{s.height} * s.width;
  };
  const Explanation fact = fact_of(some);
  CHECK(says(fact, "the products with c % 2 = 1 use other elements of the input"));
  CHECK(fact.title == "some products use another element");
}

TEST_CASE("probe: a variable with one value is not said to be missing in an output's index") {
  const std::vector<ConvShape> shapes = {{1, 2, 1, 9, 12, 3, 1}, {1, 5, 1, 8, 8, 3, 1}};
  std::vector<std::vector<Point>> points(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const ConvShape& s = shapes[i];
    for (std::int64_t o = 0; o < s.output_size(); ++o) {
      const Label at = output_label(s, o);
      points[i].push_back(
          {variables_of(at), at.m * s.out_channels * s.out_height() + at.h * s.out_width() + at.w});
    }
  }
  const IndexForm& form = form_of(IndexForm::Array::kOutput);
  const auto index = named_index(form, shapes, points);
  REQUIRE(index);
  const Explanation fact = index_fact(form, *index, shapes);
  CHECK(says(fact, "as the sums show it: m is multiplied by M·H_out, not by H_out·W_out"));
  CHECK(says(index_fact(form, *index, {{2, 2, 1, 9, 12, 3, 1}}), "b is missing or has no effect"));
}

TEST_CASE("probe: the smallest shape that fails, and a rule that fresh shapes confirmed") {
  Loops incomplete;
  incomplete.factor = [](const ConvShape& s, const Label& at) {
    const int tap = (at.c * s.kernel + at.p) * s.kernel + at.q;
    return tap / 16 * 16 + 16 > s.taps() ? 0.0F : 1.0F;
  };
  const auto study = study_shapes(incomplete, {2, 5, 2, 9, 11, 3, 1});
  REQUIRE(study);
  CHECK(study->smallest == ConvShape{});
  CHECK(!study->may_shrink);
  CHECK(study->rule == "C·K·K is no multiple of 16");
  CHECK(case_text(study->smallest) == "1,1,1,1,1,1,1");
  Loops right;
  CHECK(!study_shapes(right, {2, 5, 2, 9, 11, 3, 1}));
}

TEST_CASE("probe: a shape is called the smallest only if smaller ones were tried") {
  struct Ends : Program {
    explicit Ends(int most_faults) : Program(most_faults) {}

   private:
    Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
      if (s.height * s.width > 300) return {.kind = Answer::Kind::kFault};
      const auto sums = right_sums(s, in, filter);
      return {.output = {sums.begin(), sums.end()}};
    }
  };
  for (const int faults : {3, 1000}) {
    Ends ends(faults);
    const auto study = study_shapes(ends, {1, 1, 1, 60, 60, 1, 1});
    REQUIRE(study);
    CHECK(study->may_shrink == (faults == 3));
  }
}

TEST_CASE("probe: a rule for the sizes holds for fractions, too") {
  Loops loops;
  loops.input = [](const ConvShape& s, const Label& at) {
    return input_index(s, at) - std::int64_t{at.w} * (s.stride - 1);
  };
  const ConvShape failing{2, 5, 2, 9, 11, 3, 2};
  const auto study = study_shapes(loops, failing);
  REQUIRE(study);
  CHECK(study->rule == "S ≥ 2 and W_out ≥ 2");
  CHECK(study->needs_stride);
  loops.stored = [](float sum, float) { return std::trunc(sum); };
  const auto truncated = study_shapes(loops, failing);
  REQUIRE(truncated);
  CHECK(truncated->smallest.stride == 1);
  CHECK_FALSE(truncated->needs_stride);
}

TEST_CASE("probe: a rule for the sizes holds for large images, too, or is not told") {
  Loops loops;
  loops.factor = [](const ConvShape& s, const Label& at) {
    return s.stride > 1 || at.h >= 64 ? 0.0F : 1.0F;
  };
  const auto study = study_shapes(loops, {2, 5, 2, 9, 11, 3, 2});
  REQUIRE(study);
  CHECK(study->rule != "S ≥ 2");
}

TEST_CASE("probe: a multiple of the right factor is named so, and a name needs enough numbers") {
  const std::vector<ConvShape> two = {{3, 5, 2, 7, 9, 3, 1}, {2, 6, 4, 10, 13, 2, 3}};
  const auto name_of = [](const std::vector<std::int64_t>& values,
                          const std::vector<ConvShape>& shapes, const char* right) {
    const auto found = expression_of(values, shapes, size_expression(right));
    return found ? found->text() : "";
  };
  CHECK(name_of({72, 64}, two, "C·K·K") == "4·C·K·K");
  CHECK(name_of({14, 40}, two, "0") == "C·H");
  // By chance B·K and S·K·K.
  CHECK(name_of({8, 9}, {{4, 2, 3, 8, 6, 2, 2}, {3, 5, 2, 7, 9, 3, 1}}, "0").empty());
  CHECK(name_of({-1 + 5 * 2, -1 + 3 * 3}, two, "C·K·K").empty());
  CHECK(size_expression("-K").text() == "-K");
  CHECK(size_expression("(W_out - 1)·H_out").at(two[0]) == 6 * 5);
  CHECK_THROWS_AS(size_expression("C·Q"), std::out_of_range);
}

TEST_CASE("probe: a rule of several shapes holds for each sample where all are marked") {
  const auto rule = [](std::int64_t only) {
    return common_rule({{{{.name = "x", .values = {0, 1, 2}}}, {false, true, false}},
                        {{{.name = "x", .values = {only}}}, {true}}})
        .text;
  };
  CHECK(rule(1) == "x = 1");
  CHECK(rule(0).empty());
}

TEST_CASE("probe: of two indices that give the same products both are told") {
  Loops turned;
  turned.input = [](const ConvShape& s, Label at) {
    std::swap(at.p, at.q);
    return input_index(s, at);
  };
  const Explanation fact = fact_of(turned);
  CHECK(fact.id == "E-transposed-weights");
  CHECK(says(fact, "those of this index of the weights"));
  CHECK(says(fact, "Or of this index of the input"));
  CHECK(says(fact, "no output tells them apart"));
  Loops shifted;  // no index of the weights does the same
  shifted.input = [](const ConvShape& s, const Label& at) { return input_index(s, at) + s.width; };
  CHECK_FALSE(says(fact_of(shifted), "no output tells them apart"));
}

TEST_CASE("probe: a product that is missing uses no other element") {
  Loops part;
  part.factor = [](const ConvShape&, const Label& at) {
    return at.q == 1 && at.p == 0 ? 0.0F : 1.0F;
  };
  part.input = [](const ConvShape& s, Label at) {
    if (at.q == 1) at.c = 0;
    return input_index(s, at);
  };
  const Explanation fact = fact_of(part);
  CHECK_FALSE(says(fact, "with q = 1 use other elements"));
}

TEST_CASE("probe: a weight in another's place is told as such, not as one that is missing") {
  Loops first_part;  // of the filter, once more from tap 128 on
  first_part.weights = [](const ConvShape& s, const Label& at) {
    const auto tap = (at.c * s.kernel + at.p) * s.kernel + at.q;
    return weight_index(s, at) - (tap >= 128 ? 128 : 0);
  };
  const Explanation fact = find_fact(first_part, {{1, 1, 3, 9, 10, 7, 1}}).value_or(nothing());
  CHECK(says(fact, "the number of the tap ≥ 128 use other elements of the weights"));
  CHECK_FALSE(says(fact, "missing"));
}

TEST_CASE("probe: a rule of shapes holds for filters that are larger than those that are drawn") {
  Loops five;
  five.factor = [](const ConvShape& s, const Label&) { return s.kernel == 5 ? 0.0F : 1.0F; };
  const auto study = study_shapes(five, {2, 5, 2, 9, 11, 5, 1});
  REQUIRE(study);
  CHECK_FALSE(contains(study->rule, "K ≥ 5"));
}
