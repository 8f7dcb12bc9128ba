#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/data/dataset.hpp"
#include "common/network/network.hpp"
#include "reference/oracle/expected.hpp"

namespace convlab::grader {

/// Reports progress to a waiting person.
using Announce = std::function<void(const std::string& what)>;

/// A network, the test images, and the expected answers. They are read once, and only when needed:
/// a failing case is reported before that.
class GradedNetwork {
 public:
  /// @param largest_batch  the largest number of images that will be requested
  GradedNetwork(std::string name, int largest_batch);

  /// Reads all of it, unless it is loaded already. Any thread may call it.
  /// @throws UsageError for an unknown name, EnvironmentError for missing data or memory
  void load(const Announce& announce);

  // After load().
  [[nodiscard]] const Network& network() const { return *network_; }
  /// `largest_batch` × image_size × image_size.
  [[nodiscard]] const std::vector<float>& images() const { return images_; }
  [[nodiscard]] const std::vector<std::uint8_t>& labels() const { return dataset_.labels; }
  [[nodiscard]] const oracle::Expected& expected() const { return expected_; }

 private:
  std::string name_;
  int largest_batch_;
  std::mutex loading_;
  std::optional<Network> network_;
  Dataset dataset_;
  std::vector<float> images_;
  oracle::Expected expected_;
};

}  // namespace convlab::grader
