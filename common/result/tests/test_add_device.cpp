#include "common/base/tests/support/catch.hpp"
#include "common/device/device_session.hpp"
#include "common/device/physical_bound.hpp"
#include "common/result/result.hpp"

using namespace convlab;

namespace {

const MeasuredDevice kGpu{.info = {.device = Device::kGpu,
                                   .name = "NVIDIA H200",
                                   .capability = {9, 0},
                                   .multiprocessors = 132,
                                   .l2_bytes = 60 << 20,
                                   .clock_mhz = 1980,
                                   .memory_clock_mhz = 3201,
                                   .memory_bus_bits = 6144,
                                   .driver = "13.0",
                                   .runtime = "12.4"},
                          .limits = {.bytes_per_second = 4.29e12},
                          .start_up_ms = 300,
                          .empty_launch_ms = 0.005};

Result two_runs() {
  Result result;
  for (const int batch : {1'000, 10'000, 10'000}) {
    RunResult run{.network = "fa23", .batch = batch, .stage = {.id = "a"}, .device = Device::kGpu};
    run.layers = {{.shape = {batch, 4, 1, 86, 86, 7, 1}}, {.shape = {batch, 16, 4, 40, 40, 7, 1}}};
    result.runs.push_back(run);
  }
  return result;
}

}  // namespace

TEST_CASE("device: tells the machine, what runs leave out, and the bounds of each batch") {
  Result result = two_runs();
  add_device(result, kGpu);
  CHECK(result.machine.gpu == "NVIDIA H200");
  CHECK(result.machine.cuda == "12.4");
  CHECK(result.machine.promised.bytes_per_second == Approx(4.917e12).epsilon(1e-3));
  CHECK(result.machine.measured.bytes_per_second == 4.29e12);
  CHECK(result.runs[0].start_up_ms == 300);
  CHECK(result.runs[1].empty_launch_ms == 0.005);

  REQUIRE(result.references.size() == 4);  // two batches, two bounds
  const ReferenceLine& memory = result.references[2];
  CHECK(memory.label == kMemoryBound);
  CHECK(memory.batch == 10'000);
  // At the measured bandwidth: 1.32 GB and 0.996 GB.
  REQUIRE(memory.op_ms.size() == 2);
  CHECK(memory.op_ms[0] == Approx(0.3077).epsilon(1e-3));
  CHECK(memory.op_ms[1] == Approx(0.2321).epsilon(1e-3));
  const ReferenceLine& fp32 = result.references[3];
  CHECK(fp32.label == kFp32Bound);
  REQUIRE(fp32.op_ms.size() == 2);
  CHECK(fp32.op_ms[0] == Approx(0.375).epsilon(1e-2));
  CHECK(fp32.op_ms[1] == Approx(1.084).epsilon(1e-2));
  CHECK(to_json(parse_result(to_json(result), "text")) == to_json(result));
}

TEST_CASE("device: an emulated device has no limits, and a failed run no bound") {
  MeasuredDevice emulated = kGpu;
  emulated.info.device = Device::kEmulated;
  Result result = two_runs();
  add_device(result, emulated);
  CHECK(result.machine.gpu.empty());
  CHECK(result.references.empty());

  for (RunResult& run : result.runs) run.verdict = Verdict::kFailed;
  add_device(result, kGpu);
  CHECK(result.references.empty());
}
