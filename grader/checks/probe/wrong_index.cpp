#include "grader/checks/probe/wrong_index.hpp"

#include <algorithm>
#include <utility>

#include "grader/checks/probe/fact_texts.hpp"

namespace convlab::grader::probe {

std::optional<WrongIndex> wrong_index(std::vector<LabelledTerms> all, bool by_weight) {
  // A shape may be so small that all of its products lie outside.
  std::erase_if(all, [](const LabelledTerms& terms) { return terms.terms.empty(); });
  const IndexForm& form = by_weight ? input_form() : weights_form();
  std::vector<ConvShape> shapes;
  std::vector<std::vector<Point>> points;
  bool all_right = true;
  for (const LabelledTerms& terms : all) {
    shapes.push_back(terms.shape);
    points.emplace_back();
    for (const Labelled& each : terms.terms) {
      points.back().push_back(
          {variables_of(each.at), by_weight ? each.term.pixel : each.term.weight});
      all_right = all_right && is_right_product(terms.shape, each);
    }
  }
  if (all_right) return std::nullopt;
  auto named = named_index(form, shapes, points);
  if (!named) return std::nullopt;
  return WrongIndex{&form, std::move(*named), all};
}

std::size_t complexity(const WrongIndex& wrong) {
  std::size_t size = wrong.index.has_names ? 0 : 100;
  for (std::size_t v = 0; v < wrong.index.factors.size(); ++v) {
    size += wrong.index.factors[v] != wrong.form->right[v] ? 10 + wrong.index.factors[v].size() : 0;
  }
  // Of two that are as simple, the index of the weights, which has fewer variables.
  if (wrong.form == &input_form()) ++size;
  return size + (wrong.index.constant == "0" ? 0 : 10);
}

bool predicts(const IndexForm& form, const NamedIndex& index, const DenseRun& run) {
  const ConvShape& s = run.shape;
  Affine there;
  for (std::size_t v = 0; v < index.factors.size(); ++v) {
    const std::string& name = index.factors[v].empty() ? form.right[v] : index.factors[v];
    there.factors.push_back(value_of(name, s));
    if (!there.factors.back()) return false;
  }
  const auto constant = value_of(index.constant, s);
  if (!constant) return false;
  there.constant = *constant;
  const bool of_input = &form == &input_form();
  const auto read = [](const Numbers& numbers, std::int64_t i) {
    const bool inside = i >= -Numbers::kMargin && i < numbers.size() + Numbers::kMargin;
    return inside ? static_cast<double>(numbers[i]) : 0.0;
  };
  constexpr std::int64_t kEnough = 2000;
  for (std::int64_t o = 0; o < std::min(kEnough, s.output_size()); ++o) {
    Label at = output_label(s, o);
    double sum = 0.0;
    for (at.c = 0; at.c < s.in_channels; ++at.c) {
      for (at.p = 0; at.p < s.kernel; ++at.p) {
        for (at.q = 0; at.q < s.kernel; ++at.q) {
          const std::int64_t measured = there.at(variables_of(at));
          sum += read(run.input, of_input ? measured : input_index(s, at)) *
                 read(run.weights, of_input ? weight_index(s, at) : measured);
        }
      }
    }
    if (sum != static_cast<double>(run.answer.output[static_cast<std::size_t>(o)])) return false;
  }
  return true;
}

Fact fact_of(const WrongIndex& wrong) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : wrong.terms) shapes.push_back(terms.shape);
  Fact fact = index_fact(*wrong.form, wrong.index, shapes);
  fact.predicts = [form = wrong.form, index = wrong.index](const DenseRun& run) {
    return predicts(*form, index, run);
  };
  const LabelledTerms& terms = wrong.terms.front();
  for (const Labelled& each : terms.terms) {
    if (is_right_product(terms.shape, each)) continue;
    fact.measured += product_by_hand(terms.shape, each);
    fact.product = watched(terms.shape, each);
    if (wrong.form == &input_form()) fact.picture = window_picture(terms, each.at);
    break;
  }
  return fact;
}

std::optional<Fact> find_output_rows(const std::vector<LabelledTerms>& all) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : all) shapes.push_back(terms.shape);
  for (const std::string rows : {"H_out", "W", "H", "(W_out - 1)", "(W_out + 1)"}) {
    std::vector<std::vector<Point>> points;
    bool differs = false;
    for (const LabelledTerms& terms : all) {
      const ConvShape& s = terms.shape;
      const int length = static_cast<int>(value_of(rows, s).value_or(0));
      differs = differs || length != s.out_width();
      points.emplace_back();
      for (const Labelled& each : terms.terms) {
        Label at = each.at;
        const int place = at.h * s.out_width() + at.w;
        at.h = place / std::max(1, length), at.w = place % std::max(1, length);
        points.back().push_back({variables_of(at), each.term.pixel});
      }
    }
    const auto index = differs ? named_index(input_form(), shapes, points) : std::nullopt;
    if (!index || !index->has_names) continue;
    Fact fact = index_fact(input_form(), *index, shapes);
    fact.id = rows == "H_out" ? "E-height-width" : "E-index";
    const std::string taken = "element i of a map of the output is taken for row i / " + rows +
                              ", column i % " + rows + "; right is i / W_out and i % W_out";
    fact.measured += "\nwhere h and w are not the output's: " + taken + ".";
    const bool is_right = index->factors == input_form().right && index->constant == "0";
    fact.cause = sentence(taken) + (is_right ? "" : " " + fact.cause);
    fact.next =
        "Compare the sizes by which the number of the output is divided, or multiplied where "
        "it is stored, with these.";
    const LabelledTerms& first = all.front();
    const auto wrong = std::ranges::find_if(
        first.terms, [&](const Labelled& each) { return !is_right_product(first.shape, each); });
    if (wrong != first.terms.end()) fact.product = watched(first.shape, *wrong);
    return fact;
  }
  return std::nullopt;
}

std::optional<Fact> find_tile_rows(const std::vector<LabelledTerms>& all) {
  struct Lengths {
    std::int64_t filled;
    std::int64_t read;
  };
  std::vector<ConvShape> shapes;
  std::vector<std::vector<Lengths>> possible;  // with few rows several pairs are
  for (const LabelledTerms& terms : all) {
    const ConvShape& s = terms.shape;
    shapes.push_back(s);
    possible.emplace_back();
    constexpr std::int64_t kLongest = 80;
    for (std::int64_t length = s.width; length <= kLongest; ++length) {
      // The place of each pixel in the tile, as a function of its row and column.
      std::vector<Point> points;
      for (const Labelled& each : terms.terms) {
        const std::int64_t plane = std::int64_t{each.at.b} * s.in_channels + each.at.c;
        const std::int64_t pixel = each.term.pixel - plane * s.height * s.width;
        if (pixel < 0 || pixel >= std::int64_t{s.height} * s.width) return std::nullopt;
        points.push_back({{each.at.h * s.stride + each.at.p, each.at.w * s.stride + each.at.q},
                          pixel / s.width * length + pixel % s.width});
      }
      const auto index = fit(points);
      if (!index || !index->factors[0] || index->factors[1] != 1 || index->constant != 0) continue;
      if (*index->factors[0] != length) possible.back().push_back({length, *index->factors[0]});
    }
  }
  // One of the two lengths is the width of the block, the same at all shapes.
  std::vector<Lengths> found;
  for (const auto same : {&Lengths::read, &Lengths::filled}) {
    for (const Lengths& first : possible.front()) {
      if (found.size() == all.size()) break;
      found.clear();
      for (const auto& own : possible) {
        const auto fits = std::ranges::find(own, first.*same, same);
        if (fits != own.end()) found.push_back(*fits);
      }
    }
  }
  if (found.size() < all.size()) return std::nullopt;
  const auto text = [&](auto length) {
    std::vector<std::int64_t> lengths;
    for (const Lengths& each : found) lengths.push_back(each.*length);
    const std::string name = name_of(lengths, shapes, "");
    return name.empty() ? number(lengths.front()) : name;
  };
  const std::string rows = text(&Lengths::filled);
  const std::string read = text(&Lengths::read);
  const LabelledTerms& first = all.front();
  const auto wrong = std::ranges::find_if(
      first.terms, [&](const Labelled& each) { return !is_right_product(first.shape, each); });
  Fact fact{.id = "E-tile-rows",
            .measured = "Measured at " + shapes_text(shapes) +
                        ": every pixel is that of a tile that is filled with rows of " + rows +
                        " elements and read with rows of " + read + ".",
            .cause = "The tile is filled with rows of " + rows +
                     " elements and read with rows of " + read + "."};
  if (rows == number(found.front().filled) || read == number(found.front().read)) {
    fact.measured += " Numbers are those of the first shape.";
  }
  if (wrong != first.terms.end()) {
    fact.measured += product_by_hand(first.shape, *wrong);
    fact.picture = window_picture(first, wrong->at);
    fact.product = watched(first.shape, *wrong);
  }
  return fact;
}

}  // namespace convlab::grader::probe
