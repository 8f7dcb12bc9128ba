#include "reference/libraries/onednn_convolution.hpp"

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace convlab {

namespace {

using dnnl::memory;

memory::desc describe(const memory::dims& sizes, memory::format_tag order) {
  return {sizes, memory::data_type::f32, order};
}

}  // namespace

struct OnednnConvolution::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward convolution;
  memory plain_output;
  memory output;
  std::unordered_map<int, memory> arguments;

  // `plain` itself if it has the order that the primitive needs, otherwise a converted copy.
  memory converted(memory& plain, const memory::desc& wanted) {
    if (plain.get_desc() == wanted) return plain;
    memory copy(wanted, engine);
    dnnl::reorder(plain, copy).execute(stream, plain, copy);
    stream.wait();
    return copy;
  }
};

OnednnConvolution::OnednnConvolution(const ConvShape& shape, Layout layout, const float* input,
                                     const float* weights, float* output)
    : impl_(std::make_unique<Impl>()) {
  const memory::dims input_sizes = {shape.batch, shape.in_channels, shape.height, shape.width};
  const memory::dims weights_sizes = {shape.out_channels, shape.in_channels, shape.kernel,
                                      shape.kernel};
  const memory::dims output_sizes = {shape.batch, shape.out_channels, shape.out_height(),
                                     shape.out_width()};
  using Order = memory::format_tag;
  const Order order = layout == Layout::kPlain ? Order::nchw : Order::any;
  // oneDNN may choose the order of the weights in both layouts; they are small.
  const dnnl::convolution_forward::desc wish(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      describe(input_sizes, order), describe(weights_sizes, Order::any),
      describe(output_sizes, order), memory::dims{shape.stride, shape.stride}, memory::dims{0, 0},
      memory::dims{0, 0});
  const dnnl::convolution_forward::primitive_desc primitive(wish, impl_->engine);
  impl_->convolution = dnnl::convolution_forward(primitive);

  // oneDNN takes one pointer type for reading and writing.
  memory plain_input(describe(input_sizes, Order::nchw), impl_->engine, const_cast<float*>(input));
  memory plain_weights(describe(weights_sizes, Order::oihw), impl_->engine,
                       const_cast<float*>(weights));
  impl_->plain_output = memory(describe(output_sizes, Order::nchw), impl_->engine, output);
  impl_->output = primitive.dst_desc() == impl_->plain_output.get_desc()
                      ? impl_->plain_output
                      : memory(primitive.dst_desc(), impl_->engine);
  impl_->arguments = {
      {DNNL_ARG_SRC, impl_->converted(plain_input, primitive.src_desc())},
      {DNNL_ARG_WEIGHTS, impl_->converted(plain_weights, primitive.weights_desc())},
      {DNNL_ARG_DST, impl_->output},
  };
}

OnednnConvolution::~OnednnConvolution() = default;

void OnednnConvolution::run() {
  impl_->convolution.execute(impl_->stream, impl_->arguments);
  impl_->stream.wait();
}

void OnednnConvolution::fetch_output() {
  if (impl_->output == impl_->plain_output) return;
  dnnl::reorder(impl_->output, impl_->plain_output)
      .execute(impl_->stream, impl_->output, impl_->plain_output);
  impl_->stream.wait();
}

}  // namespace convlab
