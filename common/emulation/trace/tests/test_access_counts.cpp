#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/base/lost_number.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/trace/access_counts.hpp"
#include "common/emulation/trace/tests/counted_kernels.hpp"

using namespace convlab;
using namespace convlab::emulation;

TEST_CASE("requests, lanes, parts and conflicts are those that the guide promises") {
  choose_settings({"CONVLAB_EMU_THREADS=1"});
  count_requests();
  // Then kernels run in processes of their own, and hand over what was counted there.
  const bool withheld = GENERATE(false, true);
  if (withheld) withhold_numbers(1);
  void* memory = nullptr;
  constexpr std::size_t kBytes = 32 << 10;
  REQUIRE(cudaMalloc(&memory, kBytes) == cudaSuccess);
  REQUIRE(cudaMemset(memory, 0, kBytes) == cudaSuccess);
  for (const CountedKernel& kernel : counted_kernels()) {
    INFO(kernel.name);
    static_cast<void>(take_counts());
    kernel.run(memory);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const AccessNotes notes = take_counts();
    AccessNote sum;
    for (const AccessNote& note : notes.accesses) {
      // The kernels keep what they load in a variable.
      if (note.space != kernel.space || note.writes != kernel.writes) continue;
      if (note.memory.variable.starts_with("kept")) continue;
      sum.requests += note.requests;
      sum.lanes += note.lanes;
      sum.parts += note.parts;
      sum.conflicts += note.conflicts;
      CHECK(note.line > 0);
    }
    CHECK(sum.requests == kernel.requests);
    CHECK(sum.lanes == kernel.lanes);
    CHECK(sum.parts == kernel.parts);
    CHECK(sum.conflicts == kernel.conflicts);
    ProductNote made;
    for (const ProductNote& note : notes.products) {
      if (note.kind != kernel.kind) continue;
      made.multiply_adds += note.multiply_adds;
      made.warp_operations += note.warp_operations;
      CHECK(note.line > 0);
    }
    CHECK(made.multiply_adds == kernel.multiply_adds);
    CHECK(made.warp_operations == kernel.warp_operations);
    // What has no line is handed over, too.
    const bool by_threads =
        kernel.multiply_adds > 0 && !std::string(kernel.kind).starts_with("tensor");
    if (by_threads) CHECK(notes.most_products > 0);
    constexpr int kCopied = 32 * sizeof(float);
    CHECK(notes.async_bytes == (std::string(kernel.name).starts_with("async") ? kCopied : 0));
  }
  CHECK(cudaFree(memory) == cudaSuccess);
  stop_withholding();
}

TEST_CASE("a mark of products that a kernel writes is its own, where numbers are withheld") {
  count_requests();
  withhold_numbers(1);
  run_write_mark();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(product_marks[2] == 0);
  stop_withholding();
}

TEST_CASE("kernels of one template are told apart by what they do") {
  count_requests();
  float* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 2 * sizeof(float)) == cudaSuccess);
  static_cast<void>(take_notes(nullptr, 0));
  run_twins(memory);
  const std::vector<DeviceLaunch> launches = take_notes(nullptr, 0).launches;
  REQUIRE(launches.size() == 3);
  CHECK(launches[0].code == launches[1].code);
  CHECK(launches[0].code != launches[2].code);
  CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE("a copy runs beside kernels of another stream unless somebody waits") {
  count_requests();
  enum class Waits { kNobody, kHost, kStream } waits{};
  waits = GENERATE(Waits::kNobody, Waits::kHost, Waits::kStream);
  float* memory = nullptr;
  float* pinned = nullptr;
  REQUIRE(cudaMalloc(&memory, 4 * sizeof(float)) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, sizeof(float)) == cudaSuccess);
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaStreamCreate(&first) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&second) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  static_cast<void>(take_notes(nullptr, 0));
  run_twins(memory, first);
  if (waits == Waits::kHost) CHECK(cudaStreamSynchronize(first) == cudaSuccess);
  if (waits == Waits::kStream) {
    CHECK(cudaEventRecord(event, first) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
  }
  CHECK(cudaMemcpyAsync(memory + 2, pinned, sizeof(float), cudaMemcpyHostToDevice, second) ==
        cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  const DeviceNotes notes = take_notes(nullptr, 0);
  CHECK(notes.kernels_beside.size() == (waits == Waits::kNobody ? 3 : 0));
  CHECK(notes.copies_beside.size() == (waits == Waits::kNobody ? 1 : 0));
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaStreamDestroy(first) == cudaSuccess);
  CHECK(cudaStreamDestroy(second) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE("a product in half precision is lost where the marks and the key say so") {
  const bool is_asked = GENERATE(false, true);
  product_key = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  const bool is_lost = is_asked && convlab::is_lost(48.0F, 3.0F, product_key);
  float* memory = nullptr;
  float made = 0.0F;
  REQUIRE(cudaMalloc(&memory, sizeof(float)) == cudaSuccess);
  product_marks[1] = is_asked ? 1 : 0;
  run_half_product(memory);
  CHECK(cudaMemcpy(&made, memory, sizeof made, cudaMemcpyDeviceToHost) == cudaSuccess);
  product_marks[1] = 0;
  CHECK(made == (is_lost ? 2.0F : 146.0F));
  CHECK(cudaFree(memory) == cudaSuccess);
}
