#include <set>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/tests/has_edit.hpp"

using convlab::grader::mend::Edit;
using convlab::grader::mend::EditableFile;
using convlab::grader::mend::has;
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
