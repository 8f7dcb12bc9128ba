#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/mend/edits.hpp"

using convlab::grader::mend::Edit;
using convlab::grader::mend::EditableFile;
using convlab::grader::mend::Kind;

namespace {

const std::string kFile = R"(
void f(const ConvShape& shape, const float* input, float* output) {
  const int W = shape.width;
  for (int b = 0; b <= shape.batch; ++b) {
    float sum = 0.0f;
    for (int w = 0; w < W; w++)
      sum += input[b * W + w];
    output[b] = sum;
  }
}
)";

bool has(const EditableFile& file, Kind kind, std::size_t line, const std::string& after) {
  const auto edits = file.edits();
  return std::ranges::any_of(edits, [&](const Edit& edit) {
    return edit.kind == kind && edit.lines.contains(line) && edit.after == after;
  });
}

}  // namespace

TEST_CASE("each kind of edit is made of the file's own tokens") {
  const EditableFile file(kFile);
  CHECK(has(file, Kind::kComparison, 4, "b < shape.batch"));
  CHECK(has(file, Kind::kExchange, 7, "sum += input[w * W + b];"));
  CHECK(has(file, Kind::kFactorRemoved, 7, "sum += input[b + w];"));
  CHECK(has(file, Kind::kFactorAdded, 7, "sum += input[b * W + w * shape.batch];"));
  CHECK(has(file, Kind::kParentheses, 7, "sum += input[b * (W + w)];"));
  CHECK(has(file, Kind::kAssignment, 7, "sum = input[b * W + w];"));
  CHECK(has(file, Kind::kName, 3, "shape.height"));
  CHECK(has(file, Kind::kDeleted, 8, ""));
  CHECK(has(file, Kind::kAdded, 4, "sum = 0.0f;") == false);  // it is declared there
}

TEST_CASE("an edit uses no variable where it is not known") {
  const EditableFile file(kFile);
  for (const Edit& edit : file.edits()) {
    const bool in_declaration = edit.lines == std::set<std::size_t>{3};
    CHECK_FALSE((in_declaration && (edit.after == "b" || edit.after == "w" || edit.after == "W")));
  }
}

TEST_CASE("of too many edits those of frequent kinds go, and with them their text") {
  EditableFile file(kFile);
  const std::size_t whole = EditableFile(kFile).text().size();
  const std::size_t before = file.edits().size();
  file.keep_part(0, before / 2);
  CHECK(file.edits().size() <= before / 2);
  CHECK_FALSE(file.edits().empty());
  CHECK(has(file, Kind::kComparison, 4, "b < shape.batch"));
  CHECK(file.text().size() < whole);
}

TEST_CASE("what does not compile is left out by the number of its line") {
  EditableFile file(kFile);
  const std::string text = file.text();
  std::size_t line = 1;
  const auto at = text.find("(b < shape.batch)");
  REQUIRE(at != std::string::npos);
  line += static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  CHECK(file.drop_lines({line}));
  CHECK_FALSE(has(file, Kind::kComparison, 4, "b < shape.batch"));
  CHECK(has(file, Kind::kComparison, 4, "b > shape.batch"));
  CHECK(file.text().find("(b < shape.batch)") == std::string::npos);
  CHECK_FALSE(file.drop_lines({1}));  // the file itself
}

TEST_CASE(
    "the bound of OpenMP has no counter of its own, and an error in front of it leaves it out") {
  const auto bounds = [](const EditableFile& file) {
    std::set<std::string> all;
    for (const Edit& edit : file.edits()) {
      if (edit.before == "shape.batch") all.insert(edit.after);
    }
    return all;
  };
  const std::string begin = "void f(const ConvShape& shape, float* output) {\n int W = 2, b = 1;\n";
  const std::string end = " < shape.batch; ++b) output[b] = W;\n}\n";
  const EditableFile own(begin + "#pragma omp parallel for\n for (int c = 0; c" + end);
  CHECK(bounds(own).contains("W"));
  CHECK_FALSE(bounds(own).contains("c"));
  EditableFile file(begin + "#pragma omp parallel for\n for (b = 0; b" + end);
  const std::string text = file.text();
  const auto at = static_cast<std::ptrdiff_t>(text.rfind("for (b"));
  const auto before = std::count(text.begin(), text.begin() + at, '\n');
  CHECK(bounds(file).contains("W"));
  CHECK(file.drop_lines({static_cast<std::size_t>(before) + 1}));
  CHECK(bounds(file).empty());
}

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

TEST_CASE("edits keep the types of pointers in one declaration, of sums and of what sizeof names") {
  const EditableFile file(R"(
class Layer {
  ConvShape s;
  float *host, *x, *y;
  void prolog(const ConvShape& shape, const float* input) {
    s = shape;
    float acc = 0;
    for (int q = 0; q < s.kernel; q++) acc += input[q];
    cudaMalloc((void**)&x, s.input_size() * sizeof(float));
    cudaMemcpy(y, input, s.input_size() * sizeof(float), cudaMemcpyHostToDevice);
  }
};
)",
                          true);
  CHECK(has(file, Kind::kName, 10,
            "cudaMemcpy(x, input, s.input_size() * sizeof(float), cudaMemcpyHostToDevice);"));
  for (const Edit& edit : file.edits()) {
    INFO(edit.before << " => " << edit.after);
    CHECK(edit.after.find("host.") == std::string::npos);
    CHECK(edit.after.find("y.") == std::string::npos);
    CHECK(edit.after.find("[acc]") == std::string::npos);
    CHECK(edit.after.find("sizeof(float *") == std::string::npos);
    CHECK(edit.after.find("sizeof((float") == std::string::npos);
    CHECK(edit.after.find("* y") == std::string::npos);
  }
}

TEST_CASE("what no number can choose at run time changes in a copy of the file") {
  const EditableFile file(R"(#include <cstddef>
#define TILE 16
constexpr int kHalf = TILE / 2;
__global__ void f(const float* input, float* output, int n, int m) {
  __shared__ float tile[TILE * TILE];
  float sums[kHalf];
  int total = 0;
  for (int q = 0; q < n; q++) {
    float part = 0.0f;
    for (int p = 0; p < m; p++)
      part += input[p];
      total += part;
    output[q] = part;
  }
}
)",
                          true);
  CHECK(has(file, Kind::kNumber, 2, "#define TILE 17"));
  CHECK(has(file, Kind::kNumber, 2, "#define TILE ((16) * 2)"));
  CHECK(has(file, Kind::kNumber, 3, "constexpr int kHalf = TILE / 3;"));
  CHECK(has(file, Kind::kSize, 5, "__shared__ float tile[4 * (TILE * TILE)];"));
  CHECK(has(file, Kind::kSize, 6, "float sums[(kHalf) + 1];"));
  CHECK(has(file, Kind::kWord, 5, "float tile[TILE * TILE];"));
  CHECK(has(file, Kind::kStart, 6, "float sums[kHalf] = {};"));
  CHECK(has(file, Kind::kType, 7, "float total = 0;"));
  CHECK(has(file, Kind::kMoved, 9, "(nothing here, and the same in front of line 8)"));
  CHECK(has(file, Kind::kMoved, 12, "{ part += input[p];\ntotal += part; }"));
  CHECK(has(file, Kind::kExchange, 4,
            "__global__ void f(const float* input, float* output, int m, int n) {"));
}

TEST_CASE("a copy lies in a namespace of its own, and what does not compile there is left out") {
  EditableFile file(
      "#include <cstddef>\n#define N 4\nint f(float* a) {\n  float b[N];\n  return 0;\n}\n");
  const std::string text = file.text();
  const auto first = text.find("namespace convlab_mend_1 {");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("#undef N\n") < first);
  CHECK(text.find("#include <cstddef>") < first);
  const auto line = static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first), '\n'));
  const std::size_t before = file.edits().size();
  CHECK(file.drop_lines({line + 3}));
  CHECK(file.edits().size() == before - 1);
  CHECK(file.text().find("namespace convlab_mend_1 {") == std::string::npos);
  CHECK(file.text().find("namespace convlab_mend_2 {") != std::string::npos);
}

TEST_CASE("a function of the course's interface hands on to its copies") {
  EditableFile file(R"(#define K 3
void conv_forward_cpu(float* output, const float* input, const int B) {
  float sum;
  output[B] = sum;
}
)");
  CHECK(file.text().find("return convlab_mend_1::conv_forward_cpu(output, input, B);") !=
        std::string::npos);
}

TEST_CASE("what a macro writes is edited in a macro of its own") {
  EditableFile file(R"(void f(const float* x, float* y, int W) {
#define AT(h, w) x[(h) * W + w]
  for (int h = 0; h < 3; h++) y[h] = AT(h, 1);
}
)");
  CHECK(has(file, Kind::kFactorRemoved, 2, "(h) + w"));
  CHECK(has(file, Kind::kFactorAdded, 2, "(h) * W + w * W"));
  const std::string text = file.text();
  CHECK(text.find("#define convlab_mend_AT") < text.rfind("#define AT"));
  CHECK(text.find("default: {y[h] = convlab_mend_AT(h, 1);") != std::string::npos);
}

TEST_CASE("a cast goes, and a statement moves into the loop beside it") {
  const EditableFile file(R"(
void f(float* y, int n) {
  float sum = 1;
  sum = 0;
  for (int h = 0; h < n; h++) {
    y[h] = (int)(sum * 2) + static_cast<int>(sum);
  }
}
)");
  CHECK(has(file, Kind::kCast, 6, "y[h] = (sum * 2) + static_cast<int>(sum);"));
  CHECK(has(file, Kind::kCast, 6, "y[h] = (int)(sum * 2) + (sum);"));
  CHECK(has(file, Kind::kMoved, 4, "(nothing here, and the same in front of line 6)"));
}

TEST_CASE("a value is one size shorter, one more as a whole, or another count of elements") {
  const EditableFile file(R"(
void f(const ConvShape& shape, const float* input, float* output) {
  const int W = shape.width, K = shape.kernel, S = shape.stride;
  const int columns = (W - K) / S;
  for (int i = 0; i < shape.output_image_size(); ++i) output[i] = 0;
  for (int p = 0; p < K; ++p) {
    input += W;
    output[0] += *input;
  }
}
)");
  CHECK(has(file, Kind::kOneMore, 4, "(W - K) / S + 1"));
  CHECK(has(file, Kind::kName, 5, "i < shape.output_size()"));
  CHECK(has(file, Kind::kTermAdded, 7, "input += (W - K);"));
}

TEST_CASE("a switch gets a break, a size further bytes, and a pointer the place of another") {
  const EditableFile file(R"(
__global__ void k(ConvShape shape, float* out) {
  const int side = 16 + shape.kernel - 1;
  out[side] = 0;
}
void launch(float* out, const ConvShape& shape) {
  const int side = 15 * shape.stride + shape.kernel;
  float* weights = nullptr;
  cudaMalloc(&out, shape.kernel);
  cudaMemset(weights, 0, 4);
  const int bytes = (side * side) * sizeof(float);
  switch (shape.kernel) {
    case 3:
      k<<<1, 1, bytes>>>(shape, out);
    default:
      k<<<1, 1, bytes>>>(shape, weights);
  }
}
)",
                          true);
  CHECK(has(file, Kind::kElsewhere, 3, "15 * shape.stride + shape.kernel"));
  CHECK(has(file, Kind::kName, 9, "cudaMalloc(&weights, shape.kernel);"));
  CHECK(has(file, Kind::kTermAdded, 11,
            "(side * side + shape.kernel * shape.kernel) * sizeof(float)"));
  CHECK(has(file, Kind::kAdded, 14, "break;"));
  CHECK_FALSE(has(file, Kind::kAdded, 11, "break;"));
}

TEST_CASE(
    "a copy takes the other direction, a size becomes bytes, and a factor gets what it adds") {
  const EditableFile file(R"(
__global__ void k(ConvShape shape, const float* weights, float* out) {
  for (int c = 0; c < shape.in_channels; ++c)
    out[0] += weights[(threadIdx.x * shape.in_channels * shape.kernel) + c];
}
void finish(float* device, float* host, const ConvShape& shape) {
  const size_t bytes = shape.output_size();
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
}
)",
                          true);
  CHECK(has(file, Kind::kExchange, 8, "cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);"));
  CHECK(has(file, Kind::kName, 8, "cudaMemcpy(device, host, bytes, cudaMemcpyDeviceToHost);"));
  CHECK(has(file, Kind::kFactorAdded, 7, "shape.output_size() * sizeof(float)"));
  CHECK(has(file, Kind::kTermAdded, 4,
            "out[0] += weights[((threadIdx.x * shape.in_channels + c) * shape.kernel) + c];"));
}

TEST_CASE("the parameters of a lambda are known in it alone") {
  const EditableFile file(R"(
void f(float* output, int H) {
  auto at = [&](int row) { return output[row * H]; };
  for (int i = 0; i < H; ++i) output[i] = at(i);
}
)");
  CHECK(has(file, Kind::kExchange, 3, "output[H * row]"));
  for (const Edit& edit : file.edits()) {
    CHECK_FALSE((edit.lines == std::set<std::size_t>{4} && edit.after == "i < row"));
  }
}

TEST_CASE(
    "a division rounds up, the last part is shorter, and a lambda takes other things with it") {
  const EditableFile file(R"(
void f(const ConvShape& shape, float* output) {
  const int per = shape.batch / 4;
  for (int t = 0; t < 4; ++t) {
    const int last = t * per + per;
    run([&] { output[t * last] = 0.0f; });
  }
}
)");
  CHECK(has(file, Kind::kRounding, 3, "(shape.batch + 4 - 1) / 4"));
  CHECK(has(file, Kind::kGuardAdded, 5,
            "(t * per + per < shape.batch ? t * per + per : shape.batch)"));
  CHECK(has(file, Kind::kCapture, 6, "run([=] { output[t * last] = 0.0f; });"));
  CHECK(has(file, Kind::kCapture, 6, "run([&, t] { output[t * last] = 0.0f; });"));
}

TEST_CASE("of a class the members are known in its functions alone") {
  const EditableFile file(R"(
constexpr int kTile = 16;
struct View {
  int at(int y, int x) const { return y * columns + x; }
  int rows, columns;
};
int g(int y, int x) { return y * 16 + x; }
)");
  CHECK(has(file, Kind::kName, 4, "y * rows + x"));
  CHECK(has(file, Kind::kName, 7, "y * kTile + x"));
  CHECK_FALSE(has(file, Kind::kName, 7, "y * rows + x"));
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

TEST_CASE(
    "a macro gets parentheses, a declaration goes into a loop, and twins are of two functions") {
  const EditableFile file(R"(
#define AT(a, b, n) a * n + b
__global__ void k(float* y, int stride) {
  const int side = 15 * 2 + stride;
  y[AT(side, 1, 2)] = 0.0f;
}
void g(float* y, int stride) {
  const int side = 15 * 2 + stride;
  float* at = y;
  for (int i = 0; i < side; ++i) {
    *at++ = 0.0f;
  }
}
)",
                          true);
  CHECK(has(file, Kind::kParentheses, 2, "#define AT(a, b, n) ((a) * (n) + (b))"));
  const auto edits = file.edits();
  CHECK(std::ranges::any_of(edits, [](const Edit& edit) {
    return edit.kind == Kind::kMoved && edit.lines == std::set<std::size_t>{9, 11};
  }));
  CHECK(std::ranges::any_of(edits, [](const Edit& edit) {
    return edit.lines == std::set<std::size_t>{4, 8} &&
           edit.after == "15 * 2 * stride\n15 * 2 * stride";
  }));
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

TEST_CASE("an index of another order is an exchange of two counters and one other size") {
  EditableFile file(R"(
void f(const ConvShape& s, float* y) {
  const int H = s.height;
  const int W = s.width;
  for (int h = 0; h < H; ++h)
    for (int w = 0; w < W; ++w)
      y[w * H + h] = 1.0f;
}
)");
  const auto edits = file.edits();
  std::vector<const Edit*> exchanges;
  for (const Edit& edit : edits)
    if (edit.kind == Kind::kExchange && edit.choices.size() == 1) exchanges.push_back(&edit);
  file.add_second_changes(exchanges);
  CHECK(has(file, Kind::kExchange, 7, "y[h * W + w] = 1.0f;"));
  CHECK_FALSE(has(file, Kind::kExchange, 7, "y[h * H + w] = 1.0f;"));  // one change alone
  CHECK(std::ranges::all_of(file.edits(), [](const Edit& edit) {
    return edit.further && edit.lines == std::set<std::size_t>{7};
  }));
  CHECK(file.text().find("y[h * W + w]") != std::string::npos);
}

TEST_CASE("a variable that changes is no other name for its first value") {
  const EditableFile file(R"(
void f(const int* input, int* output, int count, int columns) {
  const int first = columns / 2;
  for (int i = first; i < count; i += columns) {
    int rest = first;
    output[i] = input[rest % columns];
  }
}
)");
  CHECK(has(file, Kind::kName, 5, "i"));
  CHECK_FALSE(has(file, Kind::kName, 6, "output[i] = input[first % columns];"));
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

TEST_CASE("a file of many edits has several parts, which together are all") {
  EditableFile first(kFile);
  EditableFile second(kFile);
  const std::size_t all = first.edits().size();
  first.keep_part(0, all / 2 + 1);
  second.keep_part(1, all / 2 + 1);
  CHECK(first.edits().size() + second.edits().size() == all);
  second.keep_part(1, all);
  CHECK(second.edits().empty());
}
