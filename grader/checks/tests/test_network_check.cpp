#include "common/base/tests/support/catch.hpp"
#include "common/data/dataset.hpp"
#include "grader/checks/network_check.hpp"

using namespace convlab;

TEST_CASE("network check: right convolutions and another count are E-accuracy") {
  constexpr int kBatch = 3;
  const Network network = load_network(kDefaultPreset);
  const Dataset dataset = load_dataset(Split::kTest);
  const auto images = resize_images(dataset, kBatch, network.preset().image_size);
  oracle::Expected expected = oracle::expected_for(network, dataset, kBatch);
  grader::Submission submission(SUBMISSIONS "/plain_loops");
  const StageInfo stage{.id = "baseline"};
  const auto finding_of = [&] {
    const grader::NetworkTask task{.network = network,
                                   .images = images,
                                   .labels = dataset.labels,
                                   .expected = expected,
                                   .batch = kBatch};
    return grader::check_network(submission, stage, task, [](const std::string&) {}).finding;
  };
  CHECK_FALSE(finding_of());
  expected.undecided.clear();
  expected.predictions[1] = (expected.predictions[1] + 1) % network.preset().classes;
  const auto found = finding_of();
  REQUIRE(found);
  CHECK(found->id == "E-accuracy");
  CHECK(found->seen == "1 of 3 images get another class than expected; the first is image 1.");
}
