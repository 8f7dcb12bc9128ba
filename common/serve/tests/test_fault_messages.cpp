#include <algorithm>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/serve/fault_messages.hpp"

using namespace convlab;
using convlab::testing::contains;
using convlab::testing::TemporaryFolder;

namespace {

SourceText example(const TemporaryFolder& folder) {
  const auto file = folder.path() / "conv.cu";
  write_atomically(
      file,
      "// __global__ void conv(int wrong);\n"
      "__global__ void conv(ConvShape shape, const float* image, const __half* filter,\n"
      "                     float* __restrict__ out) {\n"
      "  if (threadIdx.x > 3) return;  // early\n"
      "  __syncthreads();\n"
      "  out[0] = image[9];\n"
      "}\n"
      "void launch() { conv<<<1, 4>>>(s, a, b, c); }\n");
  return SourceText({file});
}

}  // namespace

TEST_CASE("source text: kernels are looked for in a hostile megabyte") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "conv.cu";
  for (const std::string line : {"__global__ void conv(int a,\n", "__global__ void conv() {\n",
                                 "__global__ /* ((((( */\n", "{ __global__ }\n"}) {
    std::string text;
    while (text.size() < 1'000'000) text += line;
    write_atomically(file, text);
    const SourceText sources({file});
    CHECK(sources.parameter("conv", 1).name.empty());
    for (int number = 1; number < 1000; ++number)
      CHECK(sources.kernel_around("conv.cu", number).size() < 100);
  }
}

TEST_CASE("a failed call is told by its record, whatever its text says") {
  const auto told = [](const FaultRecord& fault) { return message_of(fault, std::nullopt, {}); };
  const std::string why = "cudaMalloc failed: invalid argument (cudaErrorInvalidValue)";
  const Finding checked = told({.text = why, .call = "cudaMalloc(&image, 4)"});
  CHECK(checked.id == "E-cuda-call");
  CHECK(checked.variant.empty());
  CHECK(checked.seen.text().starts_with(why));
  const Finding without = told({.text = why, .call = "cudaMalloc((void**)image, 4)"});
  CHECK(without.variant == "E-cuda-call/address");
  CHECK(without.next.find("cudaMalloc(&image, bytes)") != std::string::npos);
  CHECK(told({.text = "a.cu:1: " + why}).id == "E-exception");

  const std::string lanes = "load_matrix_sync: lane 3 passes another leading dimension than lane 0";
  CHECK(told({.kind = FaultKind::kWarp, .text = lanes}).variant.empty());
  CHECK(told({.kind = FaultKind::kLeading, .text = lanes}).variant == "E-warp/leading-dimension");
  CHECK(told({.kind = FaultKind::kCopy, .text = "it says freed and touches"}).variant.empty());
  CHECK(told({.kind = FaultKind::kCopyFreed}).variant == "E-copy/freed");
  CHECK(told({.kind = FaultKind::kKernelNull, .kernel = "conv"}).id == "E-null");
}

TEST_CASE("source text: a quoted line goes on below, and hostile ones are cut") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "conv_forward.cu";
  std::string bytes(1000, '\x80');
  write_atomically(
      file,
      "  sum += input[((b * shape.in_channels + c) * shape.height + h * shape.stride + "
      "p) * shape.width + w * shape.stride + q];\nint a;\n" +
          bytes + "\n");
  const SourceText sources({file});
  const std::string quote = sources.quote("conv_forward.cu", 1).text();
  CHECK(quote ==
        "\n    conv_forward.cu:1 | sum += input[((b * shape.in_channels + c) *"
        "\n                        shape.height + h * shape.stride + p) *"
        "\n                        shape.width + w * shape.stride + q];");
  CHECK(sources.quote("conv_forward.cu", 1).places() ==
        std::vector<Seen::Place>{{1, "conv_forward.cu", 1, 3, 1}});
  CHECK(sources.quote("conv_forward.cu", 2).text() == "\n    conv_forward.cu:2 | int a;");
  const std::string cut = sources.quote("conv_forward.cu", 3).text();
  CHECK(cut.ends_with(" …"));
  CHECK(std::count(cut.begin(), cut.end(), '\n') == 5);
  CHECK(sources.quote("conv_forward.cu", 3).places().front().rows == 5);
}

TEST_CASE("source text: it finds lines, parameters and words of a kernel") {
  const TemporaryFolder folder;
  const SourceText sources = example(folder);
  CHECK(sources.line("conv.cu", 6) == "out[0] = image[9];");
  CHECK(sources.line("conv.cu", 60).empty());
  CHECK(sources.parameter("conv", 2).name == "image");
  CHECK(sources.parameter("conv<7>", 3).name == "filter");
  CHECK(sources.parameter("conv", 3).element_bytes == 2);
  CHECK(sources.parameter("conv", 4).name == "out");
  CHECK(sources.parameter("conv", 5).name.empty());
  CHECK(sources.parameter("other", 1).name.empty());
  const auto returns = sources.lines_of_kernel("conv", {"return"});
  REQUIRE(returns.size() == 1);
  CHECK(returns.front().line == 4);
  CHECK_FALSE(sources.has("early"));
}

TEST_CASE("source text: a statement is quoted up to its end, and found by any of its words") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "conv.cu";
  write_atomically(file,
                   "const dim3 grid(a,  // columns\n    b,\n    images);\nrun([&] {\n"
                   "cudaMemcpyAsync(to, from,\n    bytes,\n    cudaMemcpyDeviceToHost);\n"
                   "cudaMemcpyAsync(to, from,\n    bytes,\n    cudaMemcpyHostToDevice);\n");
  const SourceText sources({file});
  CHECK(sources.quote("conv.cu", 1).text() == "\n    conv.cu:1 | const dim3 grid(a, b, images);");
  CHECK(sources.quote("conv.cu", 4).text() == "\n    conv.cu:4 | run([&] {");
  const Seen once = sources.quote("conv.cu", 1) + sources.quote("conv.cu", 3);
  CHECK(once.text() == sources.quote("conv.cu", 1).text());
  CHECK(contains((once + sources.quote("conv.cu", 4)).text(), "conv.cu:4 |"));
  // Of two copies only one reads the device's memory.
  FaultRecord fault{.kind = FaultKind::kRace, .kernel = "k"};
  fault.race = {.scope = RaceScope::kStreams,
                .first = {.file = "conv.cu", .line = 4, .writes = true},
                .second = {.call = "cudaMemcpyAsync"}};
  const std::string seen = race_message(fault, sources).seen.text();
  CHECK(contains(seen, "A call of cudaMemcpyAsync reads it here:\n    conv.cu:5 |"));
  CHECK_FALSE(contains(seen, "conv.cu:8"));
}

TEST_CASE("race: which of two lines comes first is what the file says, not who ran first") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "conv.cu";
  write_atomically(file,
                   "__global__ void k(float* y) {\n  for (;;) {\n    tile[i] = x[i];\n"
                   "    __syncthreads();\n    sum += tile[i + 1];\n    part[i] += sum;\n  }\n}\n");
  const SourceText sources({file});
  const auto told = [&](int reads, int writes, bool reads_first) {
    const RaceSide read{.file = "conv.cu", .line = reads};
    const RaceSide write{.file = "conv.cu", .line = writes, .writes = true};
    FaultRecord fault{.kind = FaultKind::kRace, .kernel = "k"};
    fault.race = {.scope = RaceScope::kBlock,
                  .first = reads_first ? read : write,
                  .second = reads_first ? write : read};
    return race_message(fault, sources);
  };
  for (const bool reads_first : {true, false}) {
    // The barrier lies between: what lacks one is the way to the next pass.
    CHECK(contains(told(5, 3, reads_first).cause, "may overwrite"));
    CHECK(contains(told(5, 3, reads_first).next, "before the next pass"));
    CHECK(contains(told(6, 5, reads_first).cause, "before the first has written"));
    CHECK(contains(told(6, 6, reads_first).cause, "either thread may come first"));
    // A function that the kernel calls: its line tells nothing of the order.
    CHECK(contains(told(5, 20, reads_first).next, "Which of the two should come first?"));
    CHECK(contains(told(22, 20, reads_first).next, "Which of the two should come first?"));
  }
}

TEST_CASE("seen: quotes keep their places in a text that is joined") {
  const TemporaryFolder folder;
  const SourceText sources = example(folder);
  Seen seen = "It stops: " + sources.quote("conv.cu", 5);
  seen = "In\ra case. \n" + seen + "\nCalled: \n    conv.cu:1 | no" + sources.quote("conv.cu:8");
  CHECK(
      seen.text() ==
      "In\ufffda case.\nIt stops:\n    conv.cu:5 | __syncthreads();\nCalled:\n    conv.cu:1 | no\n"
      "    conv.cu:8 | void launch() { conv<<<1, 4>>>(s, a, b, c); }");
  CHECK(seen.places() ==
        std::vector<Seen::Place>{{2, "conv.cu", 5, 1, 5}, {5, "conv.cu", 8, 1, 8}});
  CHECK(("Here:" + sources.quote("conv.cu", 5)).first_sentence() == "Here.");
  CHECK(Seen("Here:\n    more").first_sentence() == "Here:");
}

TEST_CASE("a fragment beside its array counts elements of the array's type") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "wmma.cu";
  write_atomically(file,
                   "__shared__ half tile[16][16];\nwmma::load_matrix_sync(b, tile[0], 24);\n");
  const FaultRecord fault{.kind = FaultKind::kDeviceMemory,
                          .kernel = "multiply",
                          .file = "wmma.cu",
                          .line = 2,
                          .memory = {.variable = "tile", .bytes = 512, .offset = 528}};
  const Finding message = message_of(fault, std::nullopt, SourceText({file}));
  CHECK(message.seen.text().find("9 elements past the end of `tile`, which has 256") !=
        std::string::npos);
  CHECK(message.cause.find("leading dimension") != std::string::npos);
}

TEST_CASE("the guards of a template, and of a loop over all blocks, are quoted") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "conv.cu";
  write_atomically(file,
                   "template <int Size>\n"
                   "__global__ void conv(int n, float* out) {\n"
                   "  for (int i = blockIdx.x; i <= n; i += Size)\n"
                   "    for (int k = threadIdx.x; k < 3; ++k)\n"
                   "      out[i] = k;\n"
                   "}\n");
  FaultRecord fault{.kind = FaultKind::kDeviceMemory};
  fault.writes = true;
  fault.kernel = "conv<32>";
  fault.file = "conv.cu";
  fault.line = 5;
  fault.memory.argument = 2;
  fault.memory.bytes = 36;
  fault.memory.offset = 36;
  const std::string seen =
      message_of(fault, ConvShape{1, 1, 1, 3, 3, 1, 1}, SourceText({file})).seen.text();
  CHECK(seen.find("conv.cu:3 | for (int i = blockIdx.x") != std::string::npos);
  CHECK(seen.find("conv.cu:4") == std::string::npos);
}

TEST_CASE("source text: long lines are cut, many equal ones are not all told; 7x is no number") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "long.cpp";
  std::string text = "float " + std::string(300'000, 'a') + " = 0;\n";
  for (int i = 0; i < 1000; ++i) text += "float x = 1;\n";
  write_atomically(file, text);
  const SourceText sources({file});
  CHECK(sources.line("long.cpp", 1).size() == 1000);
  CHECK(sources.lines_with({"float"}).size() == 200);
  CHECK(line_number("57") == 57);
  for (const char* none : {"", "99999999999999999999", "7x"}) CHECK(line_number(none) == 0);
}
