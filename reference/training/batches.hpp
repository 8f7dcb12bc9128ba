#pragma once

#include <cstdint>
#include <vector>

#include "common/data/dataset.hpp"

namespace convlab::training {

/// The order in which epoch `epoch` sees images 0 … count − 1, from the seed alone: an epoch can be
/// repeated without those before it.
std::vector<int> epoch_order(int count, std::uint64_t seed, int epoch);

/// Images order[first] … order[first + count − 1] with their labels. Augmented, each is mirrored
/// with probability ½ and shifted by up to one pixel each way, at random from seed, epoch and
/// place.
Dataset batch_of(const Dataset& dataset, const std::vector<int>& order, int first, int count,
                 bool augment, std::uint64_t seed, int epoch);

}  // namespace convlab::training
