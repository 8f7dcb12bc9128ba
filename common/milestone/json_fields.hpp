#pragma once

#include <nlohmann/json.hpp>

#include "common/milestone/result.hpp"
#include "common/tensor/conv_shape.hpp"

// How shapes and stages look in JSON, in result files and between the grader and a submission.
// nlohmann-json finds these functions through the names of their types.

namespace convlab {

/// Keeps the order in which fields are written.
using Json = nlohmann::ordered_json;

void to_json(Json& json, const ConvShape& shape);

/// @throws ShapeError for sizes that are no convolution
void from_json(const Json& json, ConvShape& shape);

void to_json(Json& json, const StageInfo& stage);
void from_json(const Json& json, StageInfo& stage);

}  // namespace convlab
