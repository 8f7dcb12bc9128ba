#include "common/result/json_fields.hpp"

namespace convlab {

void to_json(Json& json, Device device) {
  json = to_string(device);
}

void from_json(const Json& json, Device& device) {
  device = value_named(json, {Device::kCpu, Device::kGpu, Device::kEmulated});
}

void to_json(Json& json, const ConvShape& shape) {
  json = {{"batch", shape.batch},
          {"out_channels", shape.out_channels},
          {"in_channels", shape.in_channels},
          {"height", shape.height},
          {"width", shape.width},
          {"kernel", shape.kernel},
          {"stride", shape.stride}};
}

void from_json(const Json& json, ConvShape& shape) {
  shape = {.batch = json.at("batch"),
           .out_channels = json.at("out_channels"),
           .in_channels = json.at("in_channels"),
           .height = json.at("height"),
           .width = json.at("width"),
           .kernel = json.at("kernel"),
           .stride = json.at("stride")};
  validate(shape);
}

void to_json(Json& json, const StageInfo& stage) {
  json = {{"id", stage.id},
          {"title", stage.title},
          {"baseline", stage.baseline},
          {"precision", stage.precision},
          {"order", stage.order}};
}

void from_json(const Json& json, StageInfo& stage) {
  stage = {.id = json.at("id"),
           .title = json.at("title"),
           .baseline = json.at("baseline"),
           .precision = json.at("precision"),
           .order = json.at("order")};
}

void to_json(Json& json, const OpSample& sample) {
  json = {{"host_ms", sample.host_ms},
          {"event_ms", sample.event_ms},
          {"clock_mhz", sample.clock_mhz},
          {"slowed", sample.slowed}};
}

void from_json(const Json& json, OpSample& sample) {
  sample = {.host_ms = json.at("host_ms"),
            .event_ms = json.at("event_ms"),
            .clock_mhz = json.at("clock_mhz"),
            .slowed = json.at("slowed")};
}

void to_json(Json& json, const DeviceLimits& limits) {
  json = {{"bytes_per_second", limits.bytes_per_second},
          {"cache_bytes_per_second", limits.cache_bytes_per_second},
          {"cache_bytes", limits.cache_bytes},
          {"fp32_per_second", limits.fp32_per_second},
          {"tf32_per_second", limits.tf32_per_second},
          {"fp16_per_second", limits.fp16_per_second}};
}

void from_json(const Json& json, DeviceLimits& limits) {
  limits = {.bytes_per_second = json.at("bytes_per_second"),
            .cache_bytes_per_second = json.at("cache_bytes_per_second"),
            .cache_bytes = json.at("cache_bytes"),
            .fp32_per_second = json.at("fp32_per_second"),
            .tf32_per_second = json.at("tf32_per_second"),
            .fp16_per_second = json.at("fp16_per_second")};
}

void to_json(Json& json, const DeviceInfo& info) {
  json = {{"device", info.device},
          {"name", info.name},
          {"capability", {info.capability.major, info.capability.minor}},
          {"multiprocessors", info.multiprocessors},
          {"memory_bytes", info.memory_bytes},
          {"l2_bytes", info.l2_bytes},
          {"clock_mhz", info.clock_mhz},
          {"memory_clock_mhz", info.memory_clock_mhz},
          {"memory_bus_bits", info.memory_bus_bits},
          {"driver", info.driver},
          {"runtime", info.runtime}};
}

void from_json(const Json& json, DeviceInfo& info) {
  const Json& capability = json.at("capability");
  info = {.device = json.at("device"),
          .name = json.at("name"),
          .capability = {capability.at(0).get<int>(), capability.at(1).get<int>()},
          .multiprocessors = json.at("multiprocessors"),
          .memory_bytes = json.at("memory_bytes"),
          .l2_bytes = json.at("l2_bytes"),
          .clock_mhz = json.at("clock_mhz"),
          .memory_clock_mhz = json.at("memory_clock_mhz"),
          .memory_bus_bits = json.at("memory_bus_bits"),
          .driver = json.at("driver"),
          .runtime = json.at("runtime")};
}

void to_json(Json& json, const DeviceReport& report) {
  json = {{"info", report.info},
          {"measured", report.measured},
          {"start_up_ms", report.start_up_ms},
          {"empty_launch_ms", report.empty_launch_ms}};
}

void from_json(const Json& json, DeviceReport& report) {
  report = {.info = json.at("info"),
            .measured = json.at("measured"),
            .start_up_ms = json.at("start_up_ms"),
            .empty_launch_ms = json.at("empty_launch_ms")};
}

}  // namespace convlab
