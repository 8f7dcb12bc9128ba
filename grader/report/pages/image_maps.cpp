#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/graded_network.hpp"
#include "grader/report/pages/report.hpp"
#include "grader/submission/submission.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

namespace {

StageInfo stage_of(Submission& submission, const std::string& id) {
  std::vector<StageInfo> stages;
  if (const auto failure = submission.list_stages(stages)) {
    const Finding found = explain(*failure, "the list of stages");
    throw Error(ExitCode::kFallsShort, found.title + ": " + found.seen);
  }
  std::vector<std::string> known;
  for (const StageInfo& stage : stages) {
    if (id.empty() || stage.id == id) return stage;
    known.push_back(stage.id);
  }
  throw UsageError(unknown_name("stage", id, known));
}

/// The outcome of one convolution of one image.
struct LayerMaps {
  ConvShape shape{};
  std::vector<float> yours{};
  std::vector<std::uint8_t> wrong{};
  std::string failure{};
};

LayerMaps run_layer(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                    const float* input, const float* weights, float* output) {
  LayerMaps maps{.shape = shape};
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  std::copy_n(input, shape.input_size(), arrays.input);
  std::copy_n(weights, shape.weights_size(), arrays.weights);
  const Call call = submission.run(stage.id);
  if (call.failure) {
    const Finding found = explain(*call.failure, "this convolution");
    maps.failure = found.title + ": " + found.seen;
  } else {
    maps.yours.assign(arrays.output, arrays.output + shape.output_size());
  }
  const double bound = oracle::error_bound(stage.precision, shape.taps()) * oracle::kUnitRoundoff;
  oracle::for_each_image(
      shape, input, weights,
      [&](int, std::span<const double> values, std::span<const double> magnitudes) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          output[i] = static_cast<float>(values[i]);
          if (maps.yours.empty()) continue;
          const double error = std::abs(maps.yours[i] - values[i]);
          maps.wrong.push_back(!(error <= bound * magnitudes[i]));
        }
      });
  return maps;
}

MapGrid grid_of(const LayerMaps& maps, int number) {
  MapGrid grid{.title = "Convolution " + std::to_string(number) + ": " +
                        std::to_string(maps.shape.out_channels) + " maps of " +
                        std::to_string(maps.shape.out_height()) + " × " +
                        std::to_string(maps.shape.out_width()),
               .width = maps.shape.out_width(),
               .height = maps.shape.out_height()};
  const auto size = static_cast<std::ptrdiff_t>(grid.width) * grid.height;
  for (int map = 0; map < maps.shape.out_channels; ++map) {
    const auto cut = [&](const auto& all) {
      return std::decay_t<decltype(all)>(all.begin() + map * size, all.begin() + (map + 1) * size);
    };
    grid.maps.push_back({.label = "map " + std::to_string(map),
                         .values = cut(maps.yours),
                         .wrong = cut(maps.wrong)});
  }
  return grid;
}

}  // namespace

std::vector<PageBlock> image_maps(const std::filesystem::path& program, const std::string& stage,
                                  const std::string& network, int image) {
  constexpr int kImages = 10'000;
  if (image < 0 || image >= kImages) {
    throw UsageError("The test images are 0 to 9999; there is no image " + std::to_string(image) +
                     ".");
  }
  Submission submission(program);
  const StageInfo info = stage_of(submission, stage);
  GradedNetwork graded(network, image + 1);
  graded.load([](const std::string&) {});
  const int edge = graded.network().preset().image_size;
  const auto pixels = static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
  const std::span<const float> picture(&graded.images()[pixels * static_cast<std::size_t>(image)],
                                       pixels);
  std::vector<PageBlock> blocks = {
      Paragraph{"Test image " + std::to_string(image) + " in network " + network + ", stage " +
                info.id + ". Wrong elements are red; grey levels are scaled for each layer."},
      MapGrid{.title = "Input, class " +
                       std::to_string(graded.labels()[static_cast<std::size_t>(image)]),
              .width = edge,
              .height = edge,
              .maps = {{.label = std::to_string(edge) + " × " + std::to_string(edge),
                        .values = {picture.begin(), picture.end()}}}}};
  std::ignore = graded.network().forward(
      picture, 1,
      [&](int index, const ConvShape& shape, const float* input, const float* weights,
          float* output) {
        const LayerMaps maps = run_layer(submission, info, shape, input, weights, output);
        if (maps.failure.empty()) {
          blocks.emplace_back(grid_of(maps, index + 1));
        } else {
          blocks.emplace_back(
              Paragraph{"Convolution " + std::to_string(index + 1) + ": " + maps.failure});
        }
      });
  return blocks;
}

}  // namespace convlab::grader
