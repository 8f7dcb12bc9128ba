#include <algorithm>
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"

using namespace convlab;
using convlab::testing::contains;
using convlab::testing::message_of;

namespace {

// load_preset's complaint about a file with this text; empty if it accepts it.
std::string complaint_about(const std::string& text) {
  const convlab::testing::TemporaryFolder folder;
  write_atomically(folder.path() / "preset.json", text);
  return message_of([&] { load_preset((folder.path() / "preset.json").string()); });
}

}  // namespace

TEST_CASE("preset: every edition has the shapes of the course") {
  struct Edition {
    const char* name;
    int image;
    std::vector<ConvShape> convs;
    int flattened;
  };
  const auto conv = [](int m, int c, int size, int k) {
    return ConvShape{
        .out_channels = m, .in_channels = c, .height = size, .width = size, .kernel = k};
  };
  const std::vector<Edition> editions = {
      {"fa16", 28, {conv(32, 1, 28, 5), conv(64, 32, 12, 5)}, 1024},
      {"fa17-high", 28, {conv(50, 1, 28, 5)}, 7200},
      {"fa17-low", 28, {conv(50, 1, 28, 5)}, 7200},
      {"sp18", 64, {conv(6, 1, 64, 5), conv(16, 6, 30, 5)}, 10816},
      {"fa18", 72, {conv(12, 1, 72, 7), conv(24, 12, 33, 7)}, 17496},
      {"sp19", 48, {conv(6, 1, 48, 5), conv(16, 6, 22, 5)}, 5184},
      {"fa19", 70, {conv(12, 1, 70, 5), conv(24, 12, 33, 5)}, 20184},
      {"fa23", 86, {conv(4, 1, 86, 7), conv(16, 4, 40, 7)}, 1296},
      {"lenet5", 28, {conv(6, 1, 28, 5), conv(16, 6, 12, 5)}, 256}};
  REQUIRE(preset_names().size() == editions.size());
  for (const Edition& edition : editions) {
    const Preset preset = load_preset(edition.name);
    CHECK(preset.name == edition.name);
    CHECK(preset.image_size == edition.image);
    CHECK(preset.conv_shapes(1) == edition.convs);
    const auto shapes = preset.feature_shapes();
    const auto dense = std::ranges::find_if(preset.layers, [](const Layer& layer) {
      return std::holds_alternative<DenseLayer>(layer);
    });
    CHECK(shapes[static_cast<std::size_t>(dense - preset.layers.begin())].size() ==
          edition.flattened);
    CHECK(shapes.back() == FeatureShape{10, 1, 1});
  }
}

TEST_CASE("preset: a malformed file is described") {
  const auto with_layers = [](const std::string& layers) {
    return R"({"name":"x","title":"x","image_size":28,"classes":10,"layers":[)" + layers + "]}";
  };
  CHECK(contains(complaint_about("{"), "parse error"));
  CHECK(contains(complaint_about("[]"), "cannot be used"));
  CHECK(complaint_about(with_layers(R"({"type":"dense","units":10})")).empty());
  const std::pair<const char*, const char*> wrong[] = {
      {"", "needs 1 to 64 'layers'"},
      {R"({"type":"dense","units":9})", "ends with 9 values instead of one for each of 10 classes"},
      {R"({"type":"dense","units":-1})", "a whole number from 1 to 4096 for 'units', not -1"},
      {R"({"type":"conv","out_channels":1,"kernel":99})",
       "a convolution of kernel 99 does not fit into its input of 28×28 pixels."},
      {R"({"type":"conv","out_channels":1,"kernel":3,"strde":2})", "has an unknown key 'strde'"},
      {R"({"type":"pool","function":"median","size":2})",
       "There is no function 'median'; the functions are: max, average."}};
  for (const auto& [layers, complaint] : wrong) {
    CHECK_THAT(complaint_about(with_layers(layers)), Catch::Matchers::ContainsSubstring(complaint));
  }
}
