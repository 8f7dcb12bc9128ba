#include "grader/checks/graded_network.hpp"

#include <utility>

#include "common/data/dataset.hpp"

namespace convlab::grader {

GradedNetwork::GradedNetwork(std::string name, int largest_batch)
    : name_(std::move(name)), largest_batch_(largest_batch) {}

void GradedNetwork::load(const Announce& announce) {
  const std::lock_guard lock(loading_);
  if (network_) return;
  announce("loading the test images");
  dataset_ = load_dataset(Split::kTest);
  Network network = load_network(name_);
  images_ = resize_images(dataset_, largest_batch_, network.preset().image_size);
  announce("looking up what the network must answer");
  expected_ = oracle::expected_for(network, dataset_, largest_batch_);
  network_.emplace(std::move(network));
}

}  // namespace convlab::grader
