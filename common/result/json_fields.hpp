#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "common/device/device_info.hpp"
#include "common/device/physical_floor.hpp"
#include "common/error/error.hpp"
#include "common/result/device_report.hpp"
#include "common/result/result.hpp"
#include "common/tensor/conv_shape.hpp"
#include "common/timing/op_sample.hpp"

// The JSON form of shapes, stages, samples and devices, in result files and in messages between the
// grader and a submission. nlohmann-json finds these functions through their types' namespace.

namespace convlab {

/// Keeps the order in which fields are written.
using Json = nlohmann::ordered_json;

/// The one of `values` that to_string calls as the JSON does. @throws EnvironmentError if none is
template <class Enum>
Enum value_named(const Json& json, std::initializer_list<Enum> values) {
  const auto name = json.get<std::string>();
  for (const Enum value : values) {
    if (name == to_string(value)) return value;
  }
  throw EnvironmentError("'" + name + "' is not a known value");
}

void to_json(Json& json, Device device);

/// @throws EnvironmentError for a name that is none
void from_json(const Json& json, Device& device);

void to_json(Json& json, const ConvShape& shape);

/// @throws ShapeError for sizes that are no convolution
void from_json(const Json& json, ConvShape& shape);

void to_json(Json& json, const StageInfo& stage);
void from_json(const Json& json, StageInfo& stage);

void to_json(Json& json, const OpSample& sample);
void from_json(const Json& json, OpSample& sample);

void to_json(Json& json, const DeviceLimits& limits);
void from_json(const Json& json, DeviceLimits& limits);

void to_json(Json& json, const DeviceInfo& info);
void from_json(const Json& json, DeviceInfo& info);

void to_json(Json& json, const DeviceReport& report);
void from_json(const Json& json, DeviceReport& report);

void to_json(Json& json, const Score& score);
void from_json(const Json& json, Score& score);

void to_json(Json& json, const SourceFile& file);
void from_json(const Json& json, SourceFile& file);

}  // namespace convlab
