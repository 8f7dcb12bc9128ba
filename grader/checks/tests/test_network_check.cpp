#include "common/base/tests/support/catch.hpp"
#include "common/data/dataset.hpp"
#include "grader/checks/network_check.hpp"

using namespace convlab;

TEST_CASE("network check: right convolutions and another count are E-accuracy") {
  constexpr int kBatch = 3;
  grader::GradedNetwork network{kDefaultPreset, kBatch};
  const auto silent = [](const std::string&) {};
  network.load(silent);
  grader::Submission submission(SUBMISSIONS "/plain_loops");
  const StageInfo stage{.id = "baseline"};
  const auto finding_of = [&] {
    return grader::check_network(submission, stage, network, kBatch, silent).finding;
  };
  CHECK_FALSE(finding_of());
  network.expected.undecided.clear();
  int& prediction = network.expected.predictions[1];
  prediction = (prediction + 1) % network.network->preset().classes;
  const auto found = finding_of();
  REQUIRE(found);
  CHECK(found->id == "E-accuracy");
  CHECK(found->seen == "1 of 3 images gets another class than expected; the first is image 1.");
}

TEST_CASE("network check: a bar shows the time that is left") {
  CHECK(grader::progress_bar(31.0, 118.0) == " [##........] 87 s left");
  CHECK(grader::progress_bar(0.2, 10.0) == " [..........] 10 s left");
  CHECK(grader::progress_bar(12.0, 0.0) == ": 12 s");
  CHECK(grader::progress_bar(12.0, 11.0) == ": 12 s");
}
