#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"
#include "common/base/precision.hpp"
#include "common/device/device_info.hpp"

namespace convlab {

/// One convolution in its three phases. The program calls prolog, convolve and epilog in this
/// order, convolve once or several times, and may start again with another shape.
class Convolution {
 public:
  Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  virtual ~Convolution() = default;

  /// Allocates and copies in. The host arrays (laid out as ConvShape says) outlive epilog.
  virtual void prolog(const ConvShape& shape, const float* input, const float* weights,
                      float* output) = 0;

  /// The convolution alone: its duration is the op time.
  virtual void convolve() = 0;

  /// Copies out and frees. After it, every element of prolog's `output` is written.
  virtual void epilog() = 0;
};

/// One implementation of the convolution. A stage is one file that registers itself with a
/// namespace-scope CpuStage, ConvolutionStage or LadderStage.
///
/// For CUDA 11, the members that a .cu file names must come first, without a gap.
struct Stage {
  std::string id = "";        ///< what --stage takes: lower case, words joined by '-'
  std::string title = "";     ///< a line for tables and plots
  std::string baseline = "";  ///< the stage that it is compared with; none for the first
  int order = 0;              ///< position on the ladder
  Precision precision = Precision::kFp32;
  ComputeCapability needs{};  ///< the least capability of the GPU; none for the CPU
  std::string only_for = "";  ///< the only network whose layers it supports; none: every shape
  std::function<std::unique_ptr<Convolution>()> make = nullptr;
};

/// All stages that this executable links, by order, then id.
std::vector<Stage> registered_stages();

/// The stage with this id. @throws UsageError that lists the known ones, EnvironmentError for one
/// that was left out.
Stage find_stage(const std::string& id);

/// Registers a stage while the program starts.
struct StageRegistration {
  explicit StageRegistration(Stage stage);
};

/// The same for a class derived from Convolution; each run of the stage makes a new object.
///
///     const convlab::ConvolutionStage<Tiled> stage({.id = "tiled", .title = "Shared memory"});
template <class Implementation>
struct ConvolutionStage {
  explicit ConvolutionStage(Stage stage) {
    stage.make = [] { return std::make_unique<Implementation>(); };
    StageRegistration{std::move(stage)};
  }
};

/// A stage of milestone 4 with the place, the baseline, the precision class and the capability that
/// the ladder gives to this id (ladder.cpp); a stage that the ladder does not list goes to its end.
Stage ladder_stage(const char* id, const char* title);

/// Registers a class derived from Convolution as such a stage.
///
///     const convlab::LadderStage<Winograd> stage("winograd", "Fewer multiplications");
template <class Implementation>
struct LadderStage : ConvolutionStage<Implementation> {
  LadderStage(const char* id, const char* title)
      : ConvolutionStage<Implementation>(ladder_stage(id, title)) {}
};

/// Says why this program lacks a stage that others of the same sources have: a library is missing.
struct StageLeftOut {
  /// @param reason  follows "There is no stage 'id' here: "
  StageLeftOut(const std::string& id, const std::string& reason);
};

/// Those stages with their reasons.
std::map<std::string, std::string>& stages_left_out();

/// An exercise that is still as handed out, and its file.
struct UntouchedExercise : NotImplementedError {
  UntouchedExercise(const std::string& message, std::string in)
      : NotImplementedError(message), file(std::move(in)) {}
  std::string file;
};

/// @throws UntouchedExercise
[[noreturn]] void not_implemented(const std::string& file);

}  // namespace convlab
