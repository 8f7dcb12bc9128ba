#include <string>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/tests/has_edit.hpp"

using convlab::grader::mend::Edit;
using convlab::grader::mend::EditableFile;
using convlab::grader::mend::has;
using convlab::grader::mend::Kind;

TEST_CASE("edits of kernels: launches, grids, pointers and barriers keep their types") {
  const EditableFile file(R"(
__global__ void turn(ConvShape shape, const float* input, float* output) {
  __shared__ float tile[64];
  const int h = blockIdx.y * 8 + threadIdx.y;
  const int w = blockIdx.x * 8 + threadIdx.x;
  if (h > shape.out_height() || w > shape.out_width()) return;
  tile[threadIdx.x] = input[w];
  for (int q = 0; q < shape.kernel; q++)
    output[h] += tile[q];
}
void launch(ConvShape shape, const float* input, float* output) {
  cudaMemcpy(&output, input, 4, cudaMemcpyHostToDevice);
  const int bytes = shape.out_width();
  const dim3 block(8, 8);
  const dim3 grid(bytes / 8, shape.out_height() / 8);
  turn<<<block, grid, bytes>>>(shape, input, output);
  const int row = bytes / 8 * bytes;
  const int column = bytes % 8 * bytes;
}
)",
                          true);
  CHECK(has(file, Kind::kExchange, 16, "turn<<<grid, block, bytes>>>(shape, input, output);"));
  CHECK(has(file, Kind::kBytes, 16,
            "turn<<<block, grid, bytes * sizeof(float)>>>(shape, input, output);"));
  CHECK(has(file, Kind::kName, 16, "turn<<<block, grid, bytes>>>(shape, output, output);"));
  CHECK(has(file, Kind::kOneMore, 15, "(shape.out_height() + 1) / 8"));
  CHECK(has(file, Kind::kAdded, 7, "__syncthreads();"));
  CHECK(has(file, Kind::kOperator, 12, "cudaMemcpy(output, input, 4, cudaMemcpyHostToDevice);"));
  // Rows and columns at once: in one condition, and in two lines.
  CHECK(has(file, Kind::kComparison, 6, "h >= shape.out_height() || w >= shape.out_width()"));
  const auto edits = file.edits();
  for (const std::set<std::size_t>& lines : {std::set<std::size_t>{4, 5}, {17, 18}}) {
    CHECK(std::ranges::any_of(
        edits, [&](const Edit& edit) { return edit.lines == lines && edit.choices.size() == 2; }));
  }
  for (const Edit& edit : edits) {
    INFO(edit.before << " => " << edit.after);
    CHECK(edit.after.find("turn *") == std::string::npos);
    CHECK(edit.after.find("output) *") == std::string::npos);
    CHECK(edit.after.find("h++") == std::string::npos);  // it is constant
    CHECK(edit.after.find("grid *") == std::string::npos);
    CHECK(edit.after.find("output++") == std::string::npos);
  }
}

TEST_CASE(
    "a factor moves to one part of a sum, a part stays alone, and a counter that is missing "
    "comes") {
  const EditableFile file(R"(
void f(const ConvShape& s, const float* in, const float* w, float* out) {
  const int plane = s.height * s.width;
  for (int c = 0; c < s.in_channels; c++) {
    const float* p = in;
    for (int y = 0; y < s.height; y++)
      for (int k = 0; k < s.kernel; k++)
        out[y * s.width] += p[(y + k) * s.stride] * w[c * s.kernel + s.kernel - 1 - k];
  }
}
)");
  const std::string rest = " * w[c * s.kernel + s.kernel - 1 - k];";
  CHECK(has(file, Kind::kParentheses, 8, "out[y * s.width] += p[(y * s.stride + k)]" + rest));
  CHECK(has(file, Kind::kTermRemoved, 8,
            "out[y * s.width] += p[(y + k) * s.stride] * w[c * s.kernel + k];"));
  CHECK(has(file, Kind::kTermAdded, 5, "in + c * plane"));
  CHECK(has(file, Kind::kTermAdded, 8,
            "out[y * s.width + c * s.height * s.width] += p[(y + k) * s.stride]" + rest));
}

TEST_CASE("of the number of a thread both parts are known, though the file uses one") {
  const EditableFile file(
      "__global__ void f(float* out) {\n  const int h = threadIdx.x;\n  out[h] = 1;\n}\n", true);
  CHECK(has(file, Kind::kName, 2, "threadIdx.y"));
}

TEST_CASE("a condition that keeps threads without an output away is added where one is missing") {
  const std::string head = R"(
__global__ void copy(ConvShape shape, const float* input, float* output) {
  const int H = shape.out_height();
  const int W = shape.out_width();
  const int h = blockIdx.y * 8 + threadIdx.y;
  const int w = blockIdx.x * 8 + threadIdx.x;
)";
  const EditableFile half(head + "  if (h < H)\n    output[h * W + w] = input[h];\n}\n", true);
  CHECK(has(half, Kind::kGuardAdded, 7, "h < H && w < W"));
  CHECK(has(half, Kind::kGuardAdded, 8, "if (h < H && w < W) output[h * W + w] = input[h];"));
  const EditableFile early(head + "  if (h >= H) return;\n  output[h * W + w] = 1;\n}\n", true);
  CHECK(has(early, Kind::kGuardAdded, 7, "h >= H || w >= W"));
  CHECK(has(early, Kind::kGuardAdded, 7, "if (h >= H || w >= W) return;"));
  // A thread that leaves would be missing at a barrier.
  const EditableFile tile(head + "  __shared__ float t[8];\n  output[h * W + w] = t[h];\n}\n",
                          true);
  CHECK(has(tile, Kind::kGuardAdded, 8, "if (h < H && w < W) output[h * W + w] = t[h];"));
  for (const Edit& edit : tile.edits()) CHECK(edit.after.find("return") == std::string::npos);
}

TEST_CASE("calls get another number of bytes, and launches memory, a stream or another grid") {
  const EditableFile file(R"(
__global__ void turn(float* y) { y[threadIdx.x] = 0.0f; }
void g(const ConvShape& shape, float* y, cudaStream_t stream) {
  const int H = shape.height, W = shape.width;
  cudaMemset(y, 0, sizeof(y) + H * W);
  dim3 grid(H, W);
  turn<<<grid, 16>>>(y);
}
float mean(float sum, float more) { short n = 2; float at = n * 2; return sum / at; }
)",
                          true);
  CHECK(has(file, Kind::kBytes, 5, "cudaMemset(y, 0, H * W * sizeof(float));"));
  CHECK(has(file, Kind::kExchange, 6, "W, H"));
  CHECK(has(file, Kind::kLaunch, 7, "turn<<<grid, 16, H * W * sizeof(float)>>>(y);"));
  CHECK(has(file, Kind::kLaunch, 7, "turn<<<grid, 16, 0, stream>>>(y);"));
  const auto copies = file.edits();
  const auto becomes = [&](const std::string& part) {
    return std::ranges::any_of(copies, [&](const Edit& edit) {
      return edit.kind == Kind::kType && edit.after.find(part) != std::string::npos;
    });
  };
  CHECK(becomes("float& sum"));
  CHECK(becomes("int at = n"));
}

TEST_CASE("what a kernel's template gets is compared with nothing") {
  const EditableFile file(R"(
template <int K> __global__ void k(float* y) { y[K] = 0.0f; }
void g(float* y, int n) { k<5><<<n, 1>>>(y); }
)",
                          true);
  CHECK(has(file, Kind::kName, 3, "k<5><<<n, n>>>(y);"));
  const auto edits = file.edits();
  CHECK(std::ranges::none_of(edits, [](const Edit& edit) {
    return edit.kind == Kind::kComparison && edit.lines.contains(3);
  }));
}

TEST_CASE(
    "what threads do once is repeated, also behind a return, and a step that is there is used") {
  const std::string head =
      "__global__ void f(float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  int k = threadIdx.y;\n";
  const std::string loop = "for (int i = convlab_mend_i; i < n; i += blockDim.x * gridDim.x)";
  const EditableFile guarded(head + "  if (i < n)\n    out[i] = 1;\n}\n", true);
  CHECK(has(guarded, Kind::kRepeated, 4, loop));
  const EditableFile leaves(head + "  if (i >= n) return;\n  out[i] = 1;\n}\n", true);
  CHECK(has(leaves, Kind::kRepeated, 4, loop));
  const EditableFile both(head + "  if (i < n && k < n) out[i + k] = 1;\n}\n", true);
  CHECK(has(both, Kind::kRepeated, 4,
            loop + " for (int k = convlab_mend_k; k < n; k += blockDim.y)"));
  const EditableFile steps(head + "  if (i < n) {\n    out[i] = 1;\n    i += n;\n  }\n}\n", true);
  CHECK(has(steps, Kind::kRepeated, 4, "while (i < n) {"));
}

TEST_CASE("a matrix is stored the other way, a division keeps the rest, a pitch counts elements") {
  const EditableFile file(R"(
__global__ void f(const float* x, float* out, int C, int K, int W, int pitch) {
  const int i = threadIdx.x;
  const int m = i / (C * K);
  const int area = K * W;
  out[i * C * K + m] = x[i * pitch];
}
void launch(const float* x, float* out, int C, int K, int W, int pitch) {
  f<<<1, 64>>>(x, out, C, K, W, pitch);
}
void g(std::vector<float> sums, int n) { sums[n] = 1; }
)",
                          true);
  CHECK(has(file, Kind::kOperator, 4, "i / (C * K) % W"));
  CHECK(has(file, Kind::kExchange, 6, "out[m * K * W + i] = x[i * pitch];"));
  CHECK(has(file, Kind::kBytes, 9, "f<<<1, 64>>>(x, out, C, K, W, pitch / sizeof(float));"));
  CHECK(has(file, Kind::kType, 11, "void g(std::vector<float>& sums, int n) { sums[n] = 1; }"));
}
