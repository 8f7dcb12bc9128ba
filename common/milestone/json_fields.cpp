#include "common/milestone/json_fields.hpp"

namespace convlab {

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

}  // namespace convlab
