// oneDNN, which a user on a CPU would call instead of writing a convolution, as stages like those
// of milestone 1. Linked only into the benchmark and its test, never into a submission.

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;
using dnnl::memory;
using Order = memory::format_tag;

memory::desc describe(const memory::dims& sizes, Order order) {
  return {sizes, memory::data_type::f32, order};
}

/// @tparam kOrder  of input and output: nchw, as every stage has them, or any, which oneDNN
/// chooses;
///   then the conversions are a part of prolog and epilog
template <Order kOrder>
class OnednnConvolution final : public convlab::Convolution {
 public:
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    const memory::dims input_sizes = {shape.batch, shape.in_channels, shape.height, shape.width};
    const memory::dims weights_sizes = {shape.out_channels, shape.in_channels, shape.kernel,
                                        shape.kernel};
    const memory::dims output_sizes = {shape.batch, shape.out_channels, shape.out_height(),
                                       shape.out_width()};
    // oneDNN may choose the order of the weights in both cases; they are small.
    const dnnl::convolution_forward::desc wish(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        describe(input_sizes, kOrder), describe(weights_sizes, Order::any),
        describe(output_sizes, kOrder), memory::dims{shape.stride, shape.stride},
        memory::dims{0, 0}, memory::dims{0, 0});
    const dnnl::convolution_forward::primitive_desc primitive(wish, engine_);
    convolution_ = dnnl::convolution_forward(primitive);

    // oneDNN takes one pointer type for reading and writing.
    memory plain_input(describe(input_sizes, Order::nchw), engine_, const_cast<float*>(input));
    memory plain_weights(describe(weights_sizes, Order::oihw), engine_,
                         const_cast<float*>(weights));
    plain_output_ = memory(describe(output_sizes, Order::nchw), engine_, output);
    output_ = primitive.dst_desc() == plain_output_.get_desc()
                  ? plain_output_
                  : memory(primitive.dst_desc(), engine_);
    arguments_ = {{DNNL_ARG_SRC, converted(plain_input, primitive.src_desc())},
                  {DNNL_ARG_WEIGHTS, converted(plain_weights, primitive.weights_desc())},
                  {DNNL_ARG_DST, output_}};
  }

  void convolve() override {
    convolution_.execute(stream_, arguments_);
    stream_.wait();
  }

  void epilog() override {
    if (output_ != plain_output_) reorder(output_, plain_output_);
  }

 private:
  void reorder(memory& from, memory& to) {
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
  }

  // `plain` itself if it has the order that the primitive needs, otherwise a converted copy.
  memory converted(memory& plain, const memory::desc& wanted) {
    if (plain.get_desc() == wanted) return plain;
    memory copy(wanted, engine_);
    reorder(plain, copy);
    return copy;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::convolution_forward convolution_;
  memory plain_output_;
  memory output_;
  std::unordered_map<int, memory> arguments_;
};

constexpr int kBehindAll = 1000;

const convlab::ConvolutionStage<OnednnConvolution<Order::nchw>> plain({.id = "onednn-nchw",
                                                                       .title = "Library: oneDNN",
                                                                       .order = kBehindAll});

const convlab::ConvolutionStage<OnednnConvolution<Order::any>> blocked(
    {.id = "onednn-blocked",
     .title = "Library: oneDNN, arrays in its own order",
     .order = kBehindAll + 1});

}  // namespace
