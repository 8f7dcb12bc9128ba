#include "common/emulation/tests/features/feature.hpp"

namespace convlab::features {

std::vector<Feature>& features() {
  static std::vector<Feature> instance;
  return instance;
}

}  // namespace convlab::features
