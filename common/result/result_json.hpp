#pragma once

#include <functional>
#include <string>

#include "common/base/conv_shape.hpp"
#include "common/device/device_session.hpp"
#include "common/result/json_fields.hpp"
#include "common/result/result.hpp"
#include "common/timing/statistics.hpp"

// The fields that result files and the messages between grader and submission have in common.

namespace convlab {

/// @throws ShapeError for sizes that do not describe a convolution
void json_fields(JsonFields& fields, ConvShape& shape);
void json_fields(JsonFields& fields, StageInfo& stage);
void json_fields(JsonFields& fields, OpSample& sample);
void json_fields(JsonFields& fields, DeviceLimits& limits);
void json_fields(JsonFields& fields, ComputeCapability& capability);
void json_fields(JsonFields& fields, DeviceInfo& info);
void json_fields(JsonFields& fields, MeasuredDevice& device);
void json_fields(JsonFields& fields, ErrorMeasure& error);

/// @throws EnvironmentError if the file has another schema
void json_fields(JsonFields& fields, Result& result);

/// The text of a result file. Bytes that are not UTF-8, which a crashed program may print, are
/// replaced.
std::string file_text(const Json& json);

/// JSON that anybody may have written: nested 64 deep at most, each text printable.
/// @param has_lines  whether its texts may have several lines
/// @throws Json::exception, EnvironmentError
Json parse_foreign(const std::string& text, bool has_lines = false);

/// Calls `read` with the JSON of a result file.
/// @param name  stands for the file in messages
/// @throws EnvironmentError that names the file if anything fails
void read_file_text(const std::string& text, const std::string& name,
                    const std::function<void(const Json&)>& read);

}  // namespace convlab
