#include "reference/libraries/cpu_contender.hpp"

#include <utility>

#include "common/stage/stage.hpp"
#include "reference/libraries/onednn_convolution.hpp"

namespace convlab {

namespace {

Contender onednn(const std::string& name, OnednnConvolution::Layout layout) {
  return {name, [layout](TimedLayer& layer) -> std::function<void()> {
            auto convolution = std::make_shared<OnednnConvolution>(
                layer.shape, layout, layer.input.data(), layer.weights.data(), layer.output.data());
            return [convolution] { convolution->run(); };
          }};
}

}  // namespace

std::vector<Contender> cpu_contenders() {
  std::vector<Contender> contenders;
  for (const Stage& stage : registered_stages()) {
    contenders.push_back({stage.id, [stage](TimedLayer& layer) -> std::function<void()> {
                            std::shared_ptr<Convolution> convolution = stage.make();
                            convolution->prolog(layer.shape, layer.input.data(),
                                                layer.weights.data(), layer.output.data());
                            return [convolution] { convolution->convolve(); };
                          }});
  }
  contenders.push_back(onednn("onednn-nchw", OnednnConvolution::Layout::kPlain));
  contenders.push_back(onednn("onednn-blocked", OnednnConvolution::Layout::kBlocked));
  return contenders;
}

}  // namespace convlab
