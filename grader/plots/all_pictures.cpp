#include "grader/plots/all_pictures.hpp"

#include "grader/plots/ladder.hpp"

namespace convlab::grader {

std::vector<Picture> all_pictures(const std::vector<Result>& results,
                                  const std::vector<Result>& rows) {
  std::vector<Picture> pictures;
  for (const std::string& network : networks_of(rows)) {
    for (const auto& ladder : {make_ladder(rows, network), make_steps(rows, network)}) {
      if (!ladder) continue;
      for (Picture& slide : pictures_of(*ladder)) pictures.push_back(std::move(slide));
    }
    for (const auto& picture : {op_by_batch(results, network), roofline(results, network)}) {
      if (picture) pictures.push_back(*picture);
    }
  }
  return pictures;
}

}  // namespace convlab::grader
