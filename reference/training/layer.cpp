#include "reference/training/layer.hpp"

#include "reference/training/activation_layer.hpp"
#include "reference/training/conv_layer.hpp"
#include "reference/training/dense_layer.hpp"
#include "reference/training/pool_layer.hpp"

namespace convlab::training {

std::unique_ptr<TrainableLayer> make_layer(const Layer& layer, const FeatureShape& in) {
  struct Maker {
    const FeatureShape& in;
    std::unique_ptr<TrainableLayer> operator()(const ConvLayer& conv) const {
      return std::make_unique<TrainableConv>(conv, in);
    }
    std::unique_ptr<TrainableLayer> operator()(const ActivationLayer& activation) const {
      return std::make_unique<TrainableActivation>(activation, in);
    }
    std::unique_ptr<TrainableLayer> operator()(const PoolLayer& pool) const {
      return std::make_unique<TrainablePool>(pool, in);
    }
    std::unique_ptr<TrainableLayer> operator()(const DenseLayer& dense) const {
      return std::make_unique<TrainableDense>(dense, in);
    }
  };
  return std::visit(Maker{in}, layer);
}

}  // namespace convlab::training
