#pragma once

namespace convlab {

/// What of a request's settings says the factor of scale_matmul: "CONVLAB_MATMUL_FACTOR=2".
inline constexpr const char* kMatmulSetting = "CONVLAB_MATMUL_FACTOR=";

/// Multiplies from now on what the kernel of the course's matmul.h makes: so the grader asks
/// whether an output comes from it. Null in programs without that kernel.
inline void (*scale_matmul)(float factor) = nullptr;

}  // namespace convlab
