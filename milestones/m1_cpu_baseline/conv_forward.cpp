// The convolution layer on the CPU.
//
// Idea     Slide a small filter of weights over an image. At each place, multiply each weight by
//          the pixel under it and add up the products: that sum is one element of the output. Each
//          output map has its own filter, which reaches through all channels of the input:
//
//              output[b][m][h][w] = Σ over c, p, q of
//                  input[b][c][h·stride + p][w·stride + q] · weights[m][c][p][q]
//
// Picture  one channel, kernel 3, stride 1; the window that makes output (h = 0, w = 1):
//
//              input, 5×5          weights, 3×3        output, 3×3
//              . [a b c] .         k l m               . X .
//              . [d e f] .         n o p               . . .
//              . [g h i] .         q r s               . . .
//              . . . . .
//              . . . . .           X = a·k + b·l + c·m + d·n + … + i·s
//
//          No padding: the window stays inside the image, so the output is smaller than the input.
// Cost     in_channels · kernel² multiply-adds per output. The default network needs 4.9 million
//          of them per image: 1.25 million in its first convolution, 3.6 million in its second.
// Expect   seven nested loops, one to a few milliseconds per image. Correct first: the later
//          milestones make it fast, and you will compare every one of them with this one.
// Run      cmake --build --preset lab --target m1 && build/bin/m1 100
//          build/bin/grader check m1

#include <cstddef>

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"
#include "common/stage/stage.hpp"

namespace {

/// Forward convolution, no padding. Fill in: about 15 lines.
///
/// All arrays are row-major: the last index moves fastest, so element (i, j) of a matrix with
/// `columns` columns is at i * columns + j. The same idea, twice more, finds (b, c, h, w).
///
/// @param shape    every size: batch, out_channels, in_channels, height, width, kernel, stride, and
///                 out_height() and out_width() of the result
/// @param input    batch × in_channels × height × width
/// @param weights  out_channels × in_channels × kernel × kernel
/// @param output   batch × out_channels × out_height × out_width; write every element, it is not
///                 zero when you get it
///
/// Two things to watch: the stride is not always 1, and an index may become large. The arrays of
/// this milestone fit an int, those of milestone 4 do not: compute it in 64 bits (std::size_t).
void conv_forward(const convlab::ConvShape& shape, const float* input, const float* weights,
                  float* output) {
  // Your loops replace this line.
  convlab::not_implemented("milestones/m1_cpu_baseline/conv_forward.cpp");
}

// Tells the program about your function; leave it as it is.
const convlab::CpuStage stage({.id = "baseline", .title = "Your convolution on the CPU"},
                              conv_forward);

}  // namespace
