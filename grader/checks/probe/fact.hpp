#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "grader/checks/probe/dense_run.hpp"
#include "grader/checks/result/finding.hpp"

namespace convlab::grader::probe {

/// What was measured about a wrong program.
struct Fact {
  std::string id{};                       ///< of the catalogue
  std::string measured{};                 ///< lines; those that begin with spaces keep their form
  std::string picture{};                  ///< the pixels of one window; may be empty
  std::optional<WrongProduct> product{};  ///< an example
  std::string cause{};                    ///< empty: that of the catalogue
  std::string next{};                     ///< the same
  bool is_named = true;                   ///< of a rounding: which number, and its type
  /// Of a measured index: whether it gives the numbers of another run.
  std::function<bool(const DenseRun&)> predicts{};
};

/// With the id and the texts of this variant in findings.txt. @param values  for {0}, {1}, …
Fact told(const std::string& variant, const std::vector<std::string>& values = {});

std::string number(std::int64_t value);
std::string real(double value, int digits = 7);

struct Label;  // terms.hpp

// "(b=0, m=1, h=2, w=3)"; for a flat index also its array, or that it is outside.
std::string output_text(const Label& at);
std::string pixel_text(const ConvShape& s, std::int64_t index);
std::string weight_text(const ConvShape& s, std::int64_t index);

std::string shapes_text(const std::vector<ConvShape>& shapes);
/// With a capital letter and a full stop.
std::string sentence(std::string text);
std::string joined(const std::vector<std::string>& parts, const std::string& between);

/// Two pictures of one plane side by side: the pixels that an output should use, and those it uses,
/// with one pixel around them. Empty if they would be large.
std::string picture(const ConvShape& s, std::int64_t plane, const std::set<std::int64_t>& right,
                    const std::set<std::int64_t>& found);

/// The first wrong output, as a whole.
WrongProduct first_wrong(const DenseRun& run);

/// Expected and found numbers around the first wrong element, side by side.
std::string neighbourhood(const DenseRun& run);

}  // namespace convlab::grader::probe
