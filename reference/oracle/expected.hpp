#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/data/dataset.hpp"
#include "common/network/network.hpp"

namespace convlab::oracle {

/// The answer of a network for one image, computed in double precision.
struct ExactPrediction {
  int predicted = 0;  ///< class of the largest logit
  /// False if another class may win when each layer errs by as much as fp32 allows. Such an image
  /// is undecided: it proves nothing about a submission.
  bool decided = true;
  std::vector<double> logits;
  std::vector<double> bounds;  ///< single precision stays within logit ± bound
};

/// The forward pass in double precision with an error bound for every number.
///
/// A layer passes on the error of its inputs and adds what single precision may add. For a
/// convolution or a dense layer with inputs x ± e,
///
///     e_out = Σ |w|·e + B·u·(Σ |w|·(|x| + e) + |bias|)        B = 32, u = 2^-24
///
/// with the B of error_bound(Precision::kFp32). ReLU and pooling take intervals; tanh is
/// 1-Lipschitz and is computed within a few units in the last place.
///
/// @param images  batch × image_size × image_size
std::vector<ExactPrediction> predict_exactly(const Network& network, std::span<const float> images,
                                             int batch);

/// The answers of a network on the test images, computed in double precision from the weights on
/// the disk. expected/PRESET.json keeps them, so that a check need not compute them.
struct Expected {
  std::string network{};
  std::uint32_t weights_crc = 0;
  std::uint32_t data_crc = 0;
  std::vector<int> predictions{};  ///< class of each image
  std::vector<int> undecided{};    ///< undecided images, ascending

  friend bool operator==(const Expected&, const Expected&) = default;
};

/// How many of the first `batch` images the network gets right.
struct ExpectedCount {
  int correct = 0;    ///< by the predictions in double precision
  int undecided = 0;  ///< undecided images among them
};

ExpectedCount count(const Expected& expected, const std::vector<std::uint8_t>& labels, int batch);

/// Runs the network on the first `count` images.
Expected compute_expected(const Network& network, const Dataset& dataset, int count);

/// CRC-32 of the names, sizes and values of all parameters.
std::uint32_t crc_of(const Weights& weights);

/// CRC-32 of images and labels.
std::uint32_t crc_of(const Dataset& dataset);

/// Folder reference/oracle/expected, found as network_folder() is.
std::filesystem::path expected_folder();

/// The text of expected/PRESET.json, counts at the usual batches included for people to read.
std::string to_json(const Expected& expected, const std::vector<std::uint8_t>& labels);

/// @throws EnvironmentError if the file is not of this form.
Expected read_expected(const std::filesystem::path& file);

/// What is expected for the first `batch` images. Reads the file if it belongs to exactly these
/// weights and data, otherwise computes.
Expected expected_for(const Network& network, const Dataset& dataset, int batch);

}  // namespace convlab::oracle
