// What the probe says about loops with one thing changed.
#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/terms.hpp"
#include "grader/checks/probe/wrong_index.hpp"
#include "reference/oracle/comparison.hpp"

using namespace convlab;
using namespace convlab::grader::probe;

namespace {

/// Loops over every product, with other indices, factors and stores.
struct Loops : Program {
  Loops() : Program(40) {}

  std::function<std::int64_t(const ConvShape&, const Label&)> input = input_index;
  std::function<std::int64_t(const ConvShape&, const Label&)> weight = weight_index;
  std::function<std::int64_t(const ConvShape&, const Label&)> store = output_index;
  std::function<float(const ConvShape&, const Label&)> factor = [](const ConvShape&, const Label&) {
    return 1.0F;
  };
  std::function<float(float sum, float before)> stored = [](float sum, float) { return sum; };

 private:
  Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
    Answer answer;
    answer.output.assign(static_cast<std::size_t>(s.output_size()),
                         std::bit_cast<float>(oracle::kPoisonBits));
    float before = 0.0F;
    for (std::int64_t o = 0; o < s.output_size(); ++o) {
      Label at = output_label(s, o);
      float sum = 0.0F;
      for (at.c = 0; at.c < s.in_channels; ++at.c) {
        for (at.p = 0; at.p < s.kernel; ++at.p) {
          for (at.q = 0; at.q < s.kernel; ++at.q) {
            const std::int64_t i = input(s, at);
            sum += i < s.input_size() ? factor(s, at) * in[i] * filter[weight(s, at)] : 0.0F;
          }
        }
      }
      before = stored(sum, before);
      const std::int64_t place = store(s, output_label(s, o));
      if (place >= 0 && place < s.output_size()) {
        answer.output[static_cast<std::size_t>(place)] = before;
      }
    }
    return answer;
  }
};

const std::vector<ConvShape> kShapes = {
    {4, 2, 3, 8, 6, 2, 2}, {3, 5, 2, 7, 9, 3, 1}, {2, 6, 4, 10, 13, 2, 3}, {1, 2, 1, 20, 37, 3, 1}};

Fact fact_of(Loops& loops) {
  return find_fact(loops, kShapes).value_or(Fact{.id = "none"});
}

bool says(const Fact& fact, const std::string& words) {
  UNSCOPED_INFO(fact.measured << "\n" << fact.cause);
  return (fact.measured + "\n" + fact.cause).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("probe: right loops give no fact, after one run a shape") {
  Loops right;
  CHECK(fact_of(right).id == "none");
  CHECK(right.runs() == static_cast<int>(kShapes.size()));
}

TEST_CASE("probe: an index is measured in names") {
  Loops exchanged;
  exchanged.input = [](const ConvShape& s, const Label& at) {
    return ((std::int64_t{at.b} * s.in_channels + at.c) * s.height + at.h * s.stride + at.p) *
               s.height +
           at.w * s.stride + at.q;
  };
  Fact fact = fact_of(exchanged);
  CHECK(fact.id != "none");
  CHECK(says(fact, "h·S·H + p·H"));
  Loops order;
  order.weight = [](const ConvShape& s, const Label& at) {
    return ((std::int64_t{at.c} * s.out_channels + at.m) * s.kernel + at.p) * s.kernel + at.q;
  };
  fact = fact_of(order);
  CHECK(fact.id == "E-weights-order");
  CHECK(says(fact, "m·K·K + c·M·K·K + p·K + q"));
  Loops moved;
  moved.store = [](const ConvShape& s, const Label& at) {
    return ((std::int64_t{at.m} * s.batch + at.b) * s.out_height() + at.h) * s.out_width() + at.w;
  };
  fact = fact_of(moved);
  CHECK(fact.id == "E-output-order");
  CHECK(says(fact, "b·H_out·W_out + m·B·H_out·W_out"));
  Loops no_stride;
  no_stride.input = [](const ConvShape& s, const Label& at) {
    return ((std::int64_t{at.b} * s.in_channels + at.c) * s.height + at.h + at.p) * s.width + at.w +
           at.q;
  };
  CHECK(fact_of(no_stride).id == "E-stride");
}

TEST_CASE("probe: an index outside the array is measured, too") {
  Loops centred;
  centred.input = [](const ConvShape& s, const Label& at) {
    return input_index(s, at) - s.width - 1;
  };
  const Fact fact = fact_of(centred);
  CHECK(fact.id == "E-padding");
  CHECK(says(fact, "(W + 1)"));
}

TEST_CASE("probe: missing and doubled products") {
  Loops short_row;
  short_row.factor = [](const ConvShape& s, const Label& at) {
    return at.p == s.kernel - 1 ? 0.0F : 1.0F;
  };
  Fact fact = fact_of(short_row);
  CHECK(fact.id == "E-filter-edge");
  CHECK(says(fact, "p = K - 1"));
  Loops both;
  both.factor = [](const ConvShape&, const Label& at) {
    return at.p == 0 || at.q == 0 ? 0.0F : 1.0F;
  };
  CHECK(fact_of(both).id == "E-filter-edge");
  Loops twice;
  twice.factor = [](const ConvShape&, const Label& at) { return at.c == 1 ? 2.0F : 1.0F; };
  fact = fact_of(twice);
  CHECK(fact.id == "E-terms");
  CHECK(says(fact, "c = 1 count 2 times"));
  // The last of three slices: another number of taps at each shape.
  Loops slices;
  slices.factor = [](const ConvShape& s, const Label& at) {
    const int tap = (at.c * s.kernel + at.p) * s.kernel + at.q;
    return tap < (s.taps() + 2) / 3 * 2 ? 1.0F : 0.0F;
  };
  CHECK(says(fact_of(slices), "the number of the tap ≥ 8 (at B=4 M=2"));
}

TEST_CASE("probe: sums in each other's place, and beyond the image") {
  // Of four neighbouring outputs the last three are stored in turn; behind the row there is
  // nothing.
  Loops turned;
  turned.store = [](const ConvShape& s, const Label& at) {
    const std::int64_t own = output_index(s, at);
    return at.w % 4 == 0 || at.w / 4 * 4 + 4 > s.out_width() ? own
           : at.w % 4 == 3                                   ? own - 2
                                                             : own + 1;
  };
  const Fact fact = fact_of(turned);
  CHECK(fact.id == "E-output-order");
  CHECK(says(fact, "output (b=0, m=0, h=0, w=1) holds that of output (b=0, m=0, h=0, w=3)"));
}

TEST_CASE("probe: a part of the outputs") {
  Loops last_map;
  last_map.weight = [](const ConvShape& s, const Label& at) {
    return weight_index(s, at) - (at.m == s.out_channels - 1 ? s.taps() : 0);
  };
  Fact fact = fact_of(last_map);
  CHECK(fact.id == "E-index");
  CHECK(says(fact, "m = M - 1"));
  CHECK(says(fact, "-C·K·K"));
  Loops fourth;
  fourth.input = [](const ConvShape& s, const Label& at) {
    return input_index(s, at) - (at.w % 4 == 3 ? s.stride : 0);
  };
  fact = fact_of(fourth);
  CHECK(says(fact, "w % 4 = 3"));
}

TEST_CASE("probe: the outputs in rows of another length") {
  Loops by_height;
  by_height.input = [](const ConvShape& s, Label at) {
    const int place = at.h * s.out_width() + at.w;
    at.h = place / s.out_height(), at.w = place % s.out_height();
    return input_index(s, at);
  };
  const Fact fact = fact_of(by_height);
  CHECK(fact.id == "E-height-width");
  CHECK(says(fact, "row i / H_out, column i % H_out; right is i / W_out"));
}

TEST_CASE("probe: a tile that is filled with rows of one length and read with another") {
  // One tile, as high and as wide as 16 outputs need.
  const auto place = [](const ConvShape& s, const Label& at) {
    const int flat = (at.h * s.stride + at.p) * 16 + at.w * s.stride + at.q;
    const int length = 15 * s.stride + s.kernel;
    return std::pair(flat / length, flat % length);
  };
  Loops rows;
  rows.input = [&](const ConvShape& s, const Label& at) {
    const auto [row, column] = place(s, at);
    const std::int64_t plane = std::int64_t{at.b} * s.in_channels + at.c;
    return (plane * s.height + std::min(row, s.height - 1)) * s.width +
           std::min(column, s.width - 1);
  };
  rows.factor = [&](const ConvShape& s, const Label& at) {
    const auto [row, column] = place(s, at);
    return row < s.height && column < s.width ? 1.0F : 0.0F;
  };
  const Fact fact = fact_of(rows);
  CHECK(fact.id == "E-tile-rows");
  CHECK(says(fact, "filled with rows of 32 elements and read with rows of 16"));
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
  auto fact = find_in_row(tiles, shape).value_or(Fact{.id = "none"});
  CHECK(fact.id == "E-index");
  CHECK(says(fact,
             "output[64] should multiply filter[0] of channel 0 by input[64] of channel 0; it "
             "multiplies it by input[0] of channel 0"));
  Loops guard;
  guard.factor = [](const ConvShape& s, const Label& at) {
    return at.p == s.kernel - 1 && at.w + at.q < s.out_width() ? 1.0F : 0.0F;
  };
  fact = find_in_row(guard, shape).value_or(Fact{.id = "none"});
  CHECK(fact.id == "E-terms");
  CHECK(says(fact, "Exactly the outputs with i ≥ 252 are wrong"));
}

TEST_CASE("probe: a number of tiles that is rounded down") {
  Loops down;
  down.store = [](const ConvShape& s, const Label& at) {
    const int whole = s.out_width() < 16 ? s.out_width() : s.out_width() / 16 * 16;
    return at.w < whole ? output_index(s, at) : -1;
  };
  std::vector<ConvShape> shapes = kShapes;
  shapes.push_back({1, 3, 2, 27, 28, 2, 1});
  const Fact fact = find_fact(down, shapes).value_or(Fact{.id = "none"});
  CHECK(fact.id == "E-rounded-down");
  CHECK(says(fact, "w behind the last whole 16"));
}

TEST_CASE("probe: outputs of a product of matrices are counted through all images") {
  Loops odd;
  odd.factor = [](const ConvShape& s, const Label& at) {
    return ((at.b * s.out_height() + at.h) * s.out_width() + at.w) % 8 < 4 ? 1.0F : 0.0F;
  };
  CHECK(says(fact_of(odd), "the column of the product, (b·H_out + h)·W_out + w, % 8 ≥ 4"));
}

TEST_CASE("probe: functions of the sum") {
  Loops kept;
  kept.stored = [](float sum, float before) { return sum + before; };
  Fact fact = fact_of(kept);
  CHECK(fact.id == "E-sum-kept");
  CHECK(says(fact, "before it in memory"));
  Loops relu;
  relu.stored = [](float sum, float) { return std::max(sum, 0.0F); };
  CHECK(fact_of(relu).id == "E-activation");
  Loops half;
  half.stored = [](float sum, float) { return sum / 2.0F; };
  fact = fact_of(half);
  CHECK(fact.id == "E-scaled");
  CHECK(says(fact, "1 / (2)"));
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
  CHECK(study->rule == "C·K·K is no multiple of 16");
  CHECK(case_text(study->smallest) == "1,1,1,1,1,1,1");
  Loops exchanged;
  exchanged.input = [](const ConvShape& s, const Label& at) {
    return ((std::int64_t{at.b} * s.in_channels + at.c) * s.width + at.h * s.stride + at.p) *
               s.height +
           at.w * s.stride + at.q;
  };
  const auto other = study_shapes(exchanged, {2, 5, 2, 9, 11, 3, 1});
  REQUIRE(other);
  CHECK(other->smallest.multiply_adds() <= 2);
  Loops right;
  CHECK(!study_shapes(right, {2, 5, 2, 9, 11, 3, 1}));
}

TEST_CASE("probe: a multiple of the right factor is named so, and a name needs enough numbers") {
  const std::vector<ConvShape> two = {{3, 5, 2, 7, 9, 3, 1}, {2, 6, 4, 10, 13, 2, 3}};
  CHECK(name_of({72, 64}, two, "C·K·K") == "4·C·K·K");
  CHECK(name_of({14, 40}, two, "0") == "C·H");
  // By chance B·K and S·K·K.
  CHECK(name_of({8, 9}, {{4, 2, 3, 8, 6, 2, 2}, {3, 5, 2, 7, 9, 3, 1}}, "0").empty());
  CHECK(name_of({-1 + 5 * 2, -1 + 3 * 3}, two, "C·K·K").empty());
}

TEST_CASE("probe: a rule of several shapes holds for each sample where all are marked") {
  const auto rule = [](std::int64_t only) {
    return common_rule({{{{.name = "x", .values = {0, 1, 2}}}, {false, true, false}},
                        {{{.name = "x", .values = {only}}}, {true}}});
  };
  CHECK(rule(1) == "x = 1");
  CHECK(rule(0).empty());
}
