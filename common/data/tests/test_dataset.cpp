#include <array>
#include <cstdlib>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "common/data/tests/made_up_data.hpp"

using Catch::Matchers::ContainsSubstring;
using convlab::Dataset;
using convlab::EnvironmentError;
using convlab::Split;
using convlab::testing::message_of;
using convlab::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTestImages = "t10k-images-idx3-ubyte";
constexpr const char* kTestLabels = "t10k-labels-idx1-ubyte";

Dataset load_dataset(Split split, const fs::path& folder) {
  struct Variable {
    const char* const before = std::getenv("CONVLAB_DATA");
    const std::string kept = before == nullptr ? "" : before;
    ~Variable() { ::setenv("CONVLAB_DATA", kept.c_str(), 1); }
  } const restored;
  ::setenv("CONVLAB_DATA", folder.c_str(), 1);
  return convlab::load_dataset(split);
}

}  // namespace

TEST_CASE("dataset: Fashion-MNIST of the distribution") {
  const Dataset test = convlab::load_dataset(Split::kTest);
  CHECK(test.count == 10'000);
  std::array<int, 10> counts{};
  for (std::uint8_t label : test.labels) ++counts.at(label);
  for (int count : counts) CHECK(count == 1000);
  CHECK(test.labels[0] == 9);  // the first test image is an ankle boot

  const Dataset train = convlab::load_dataset(Split::kTrain);
  CHECK(train.count == 60'000);
}

TEST_CASE("dataset: both splits written to one folder are read back, plain or gzip") {
  const TemporaryFolder folder;
  const Dataset test = convlab::synthetic_dataset(20, 1);
  const Dataset train = convlab::synthetic_dataset(30, 2);
  convlab::write_dataset(folder.path(), Split::kTest, test);
  convlab::write_dataset(folder.path(), Split::kTrain, train);
  const fs::path images = folder.path() / kTestImages;
  convlab::write_atomically(images.string() + ".gz",
                            convlab::gzip(convlab::read_bytes(images, 1 << 20)));
  fs::remove(images);
  CHECK(load_dataset(Split::kTest, folder.path()).images == test.images);
  CHECK(load_dataset(Split::kTrain, folder.path()).labels == train.labels);
}

TEST_CASE("dataset: no data says what to install or set") {
  const TemporaryFolder folder;
  CHECK(message_of([&] { load_dataset(Split::kTest, folder.path()); }) ==
        "The data folder " + folder.path().string() +
            " has neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz: install the "
            "package dataset-fashion-mnist, or set CONVLAB_DATA to a folder that has it.");
  CHECK(message_of([&] { load_dataset(Split::kTest, "/nowhere/at/all"); }) ==
        "There is no folder /nowhere/at/all with Fashion-MNIST: install the package "
        "dataset-fashion-mnist, or set CONVLAB_DATA to a folder with t10k-images-idx3-ubyte and "
        "t10k-labels-idx1-ubyte, plain or .gz.");
}

TEST_CASE("dataset: arrays that are sound but no data set") {
  const TemporaryFolder folder;
  const auto message = [&folder](const convlab::IdxArray& images, const convlab::IdxArray& labels) {
    convlab::write_array(folder.path(), kTestImages, images);
    convlab::write_array(folder.path(), kTestLabels, labels);
    return message_of([&] { load_dataset(Split::kTest, folder.path()); });
  };
  using Bytes = std::vector<std::uint8_t>;
  CHECK(message({{2, 2, 2}, Bytes(8)}, {{2}, {0, 9}}).empty());
  const std::string unfit = "one label from 0 to 9 for each image of at most 512×512 pixels";
  CHECK_THAT(message({{2, 2, 2}, Bytes(8)}, {{3}, Bytes(3)}), ContainsSubstring(unfit));
  CHECK_THAT(message({{2, 2, 2}, Bytes(8)}, {{2}, {0, 10}}), ContainsSubstring(unfit));
  CHECK_THAT(message({{1, 1, 513}, Bytes(513)}, {{1}, Bytes(1)}), ContainsSubstring(unfit));
  CHECK_THAT(message({{8}, Bytes(8)}, {{2}, Bytes(2)}), ContainsSubstring("bytes in 3 dimensions"));
}
