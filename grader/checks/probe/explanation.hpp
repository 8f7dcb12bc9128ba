#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/serve/finding.hpp"

namespace convlab::grader::probe {

/// An array with numbers on both sides, which show what a program reads that leaves its array.
class Numbers {
 public:
  static constexpr std::int64_t kMargin = 1024;

  explicit Numbers(std::int64_t size, float value = 0.0F)
      : size_(size), all_(static_cast<std::size_t>(size + 2 * kMargin), value) {}

  /// @param index  from -kMargin to size() + kMargin - 1
  float& operator[](std::int64_t index) { return all_[static_cast<std::size_t>(index + kMargin)]; }
  float operator[](std::int64_t index) const {
    return all_[static_cast<std::size_t>(index + kMargin)];
  }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::vector<float>& with_margins() const { return all_; }
  [[nodiscard]] const float* begin() const { return all_.data() + kMargin; }

 private:
  std::int64_t size_;
  std::vector<float> all_;
};

/// One run.
struct Answer {
  enum class Kind { kNumbers, kFault, kTimeout };
  Kind kind = Kind::kNumbers;
  std::vector<float> output{};  ///< poison where nothing was written
};

/// Something that claims to convolve. It counts its runs; without any left it answers kFault.
class Program {
 public:
  /// @param has_few_bits  it may compute with halves: whole numbers are exact to 2048 only
  explicit Program(int most_faults, bool has_few_bits = false)
      : few_bits(has_few_bits), most_faults_(most_faults) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  Answer run(const ConvShape& shape, const Numbers& input, const Numbers& weights) {
    if (is_over()) return {.kind = Answer::Kind::kFault};
    ++runs_;
    Answer answer = convolve(shape, input, weights);
    // On a busy machine a call may wait for seconds; the same call does so only once.
    if (answer.kind == Answer::Kind::kTimeout) answer = convolve(shape, input, weights);
    faults_ += answer.kind == Answer::Kind::kNumbers ? 0 : 1;
    if (answer.kind == Answer::Kind::kTimeout) hangs_ = true;
    return answer;
  }

  /// Forgets earlier calls, as a new process does.
  virtual void restart() {}

  const bool few_bits;

  [[nodiscard]] int runs() const { return runs_; }
  /// Each fault costs a new process, each timeout seconds.
  [[nodiscard]] bool is_over() const {
    return hangs_ || runs_ >= kMostRuns || faults_ >= most_faults_ || computed_s_ > kMostComputing;
  }

 protected:
  /// Processor time of the program, which load does not change: few programs need so much.
  void add_computing(double seconds) { computed_s_ += seconds; }

 private:
  static constexpr int kMostRuns = 1500;
  static constexpr double kMostComputing = 20.0;

  virtual Answer convolve(const ConvShape& shape, const Numbers& input, const Numbers& weights) = 0;

  int most_faults_;
  int runs_ = 0;
  int faults_ = 0;
  double computed_s_ = 0.0;
  bool hangs_ = false;
};

/// Whole numbers for one run, whose sums in single precision are exact and nearly all different.
struct DenseRun {
  ConvShape shape{};
  Numbers input;
  Numbers weights;
  std::vector<double> right{};
  Answer answer{};

  [[nodiscard]] bool has_numbers() const { return answer.kind == Answer::Kind::kNumbers; }
  [[nodiscard]] bool is_wrong(std::size_t output) const;
  [[nodiscard]] bool is_unwritten(std::size_t output) const;
  [[nodiscard]] bool is_right() const;
  /// It gives numbers, and some are wrong.
  [[nodiscard]] bool gives_wrong() const { return has_numbers() && !is_right(); }
};

/// An output of a run that is so near to the right sum is taken for it.
constexpr double kNearlyRight = 0.25;

/// The exact output.
std::vector<double> right_sums(const ConvShape& shape, const Numbers& input,
                               const Numbers& weights);

/// Leaves only the last row of each filter, as a puzzle of one dimension has it.
template <class Weights>
void keep_last_rows(const ConvShape& shape, Weights& weights) {
  const std::int64_t taps = std::int64_t{shape.kernel} * shape.kernel;
  for (std::int64_t i = 0; i < shape.weights_size(); ++i) {
    if (i % taps < taps - shape.kernel) weights[i] = 0.0F;
  }
}

/// @param most_input, most_weight  the largest numbers
/// @param unit  of all numbers, a power of 2
DenseRun run_whole(Program& program, const ConvShape& shape, int most_input, int most_weight,
                   std::uint64_t seed, float unit = 1.0F);

/// The same with the largest numbers whose sums the program can keep.
DenseRun run_dense(Program& program, const ConvShape& shape, std::uint64_t seed = 3,
                   float unit = 1.0F);

/// It holds for exactly the marked samples: one test (=, ≠, ≥, <) of a feature, or two joined.
struct Rule {
  enum class Relation { kEqual, kNotEqual, kLess, kAtLeast, kFlag };
  struct Part {
    std::string name{};  ///< of the feature, and what it says of itself
    Relation relation = Relation::kFlag;
    std::int64_t value = 0;
    std::string end{};
    char variable = 0;
    int tile = 0;

    friend bool operator==(const Part&, const Part&) = default;
  };
  std::string text{};  ///< empty: there is no rule
  int cost = 0;
  std::vector<Part> parts{};
  bool all = true;  ///< parts are joined by "and", else by "or"

  [[nodiscard]] bool empty() const { return text.empty(); }
  /// The variable that it tests first; 0: none alone.
  [[nodiscard]] char variable() const { return parts.empty() ? '\0' : parts.front().variable; }
};

/// What was measured about a wrong program: `seen` has its lines, of which those that begin with
/// spaces keep their form. An empty cause or next is that of the catalogue.
struct Explanation : Finding {
  bool is_named = true;  ///< of a rounding: which number, and its type
  Rule rule{};           ///< of outputs that are never written
  /// Of a measured index: whether it gives the numbers of another run.
  std::function<bool(const DenseRun&)> predicts{};
  /// The same of products that are missing or count several times.
  std::function<bool(const DenseRun&)> counts_give{};
};

/// With the id and the texts of this variant in findings.txt. @param values  for {0}, {1}, …
Explanation told(const std::string& variant, const std::vector<std::string>& values = {});

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
