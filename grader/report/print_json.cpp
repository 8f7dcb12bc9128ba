#include "grader/report/print_json.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace convlab::grader {

void print_json(const nlohmann::ordered_json& json) {
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace convlab::grader
