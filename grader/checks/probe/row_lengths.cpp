#include <algorithm>

#include "grader/checks/probe/fact.hpp"
#include "grader/checks/probe/finders.hpp"
#include "grader/checks/probe/wrong_index.hpp"

namespace convlab::grader::probe {

std::optional<Fact> find_output_rows(const std::vector<LabelledTerms>& all) {
  std::vector<ConvShape> shapes;
  for (const LabelledTerms& terms : all) {
    // A few outputs lie in many kinds of rows.
    if (std::ranges::find(terms.unwritten, true) != terms.unwritten.end()) return std::nullopt;
    shapes.push_back(terms.shape);
  }
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
    if (!index) continue;
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
    show_wrong_product(fact, all.front());
    fact.picture.clear();  // its rows are the input's
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
  Fact fact = told("E-tile-rows/measured", {shapes_text(shapes), rows, read});
  if (rows == number(found.front().filled) || read == number(found.front().read)) {
    fact.measured += " Numbers are those of the first shape.";
  }
  show_wrong_product(fact, all.front());
  return fact;
}

}  // namespace convlab::grader::probe
