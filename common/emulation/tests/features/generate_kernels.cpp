// Writes random kernels as a CUDA source: integer and float arithmetic, divergence, loops, shared
// memory with barriers, shuffles, votes, atomics. Each becomes a feature, so that emulation and GPU
// can be compared on programs that nobody thought of. The same seed writes the same text, with
// every compiler: a line is put together from at most one random choice; where it needs two, the
// choices stand before it, for the order in which arguments are evaluated is the compiler's.
//
//   generate_kernels SEED COUNT OUTPUT

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

namespace {

/// splitmix64: the same numbers on every machine, a stream of its own for every (seed, number).
/// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15U ^ stream) {
    state_ = next();
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// A number from 0 to bound - 1. (Not exactly uniform; enough for an order.)
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// Writes one kernel. Values: unsigned a, b and float f, g per thread. Floats stay in a range where
/// no operation overflows, so that every result is an ordinary number.
class KernelWriter {
 public:
  KernelWriter(std::ostream& out, std::uint64_t seed, int number)
      : out_(out), random_(seed, static_cast<std::uint64_t>(number)), number_(number) {}

  void write() {
    threads_ = 32 * static_cast<int>(1 + random_.below(8));
    const std::string name = "kernel_" + std::to_string(number_);
    out_ << "__global__ void " << name << "(uint4* out) {\n"
         << "  __shared__ unsigned si[" << threads_ << "];\n  __shared__ float sf[" << threads_
         << "];\n  const unsigned t = threadIdx.x;\n"
         << "  unsigned a = t * " << odd() << "U + blockIdx.x * " << odd() << "U;\n"
         << "  unsigned b = (t ^ " << random_.below(1024) << "U) + blockIdx.x;\n"
         << "  float f = static_cast<float>(a & 1023U) * 0.0078125F;\n"
         << "  float g = static_cast<float>(b & 255U) * 0.03125F - 3.0F;\n";
    exchange_through_shared();
    const auto statements = 6 + random_.below(10);
    for (std::uint64_t i = 0; i < statements; ++i) statement();
    out_ << "  out[blockIdx.x * blockDim.x + t] =\n"
         << "      make_uint4(a, b, __float_as_uint(f), __float_as_uint(g));\n}\n\n"
         << "const Register k" << number_ << "{\"random\", \"" << name << "\", [] {\n"
         << "  DeviceArray<uint4> out(3 * " << threads_ << ");\n  " << name << "<<<3, " << threads_
         << ">>>(out.data());\n  return out.bits();\n}};\n\n";
  }

 private:
  std::uint64_t odd() { return random_.below(0x7fffffff) | 1U; }
  std::string shift() { return std::to_string(1 + random_.below(30)) + "U"; }
  const char* integer() { return random_.below(2) == 0 ? "a" : "b"; }
  const char* real() { return random_.below(2) == 0 ? "f" : "g"; }

  std::string some_bit() {
    const std::string distance = shift();
    return "(" + std::string(integer()) + " >> " + distance + ") & 1U";
  }

  void line(const std::string& text) { out_ << indent_ << text << "\n"; }

  /// Something that every thread of the block reaches.
  void statement() {
    switch (random_.below(10)) {
      case 0:
        return exchange_through_shared();
      case 1:
        return shuffle();
      case 2:
        return vote();
      case 3:
        return branch();
      case 4:
        return loop();
      case 5:
        return count_by_atomics();
      default:
        return arithmetic();
    }
  }

  void arithmetic() {
    const std::string i = integer();
    const std::string r = real();
    switch (random_.below(9)) {
      case 0: {
        const std::string addend = integer();
        return line(i + " = " + i + " * " + std::to_string(odd()) + "U + " + addend + ";");
      }
      case 1: {
        const std::string distance = shift();
        return line(i + " ^= " + integer() + " >> " + distance + ";");
      }
      case 2: {
        const std::string distance = shift();
        return line(i + " += (" + std::string(integer()) + " << " + distance + ") | t;");
      }
      case 3:
        return line(i + " = " + i + " / (" + integer() + " % 97U + 1U);");
      case 4:
        return line(r + " = " + r + " * 0.5F + " + real() + " * 0.25F;");
      case 5:
        return line(r + " = fminf(fmaxf(" + r + " - " + real() + ", -64.0F), 64.0F);");
      case 6:
        return line(r + " = " + real() + " / (fabsf(" + r + ") + 1.5F);");
      case 7:
        return line(r + " = sqrtf(fabsf(" + r + ") + 0.125F);");
      default:
        return line(i + " += static_cast<unsigned>(static_cast<int>(" + std::string(real()) +
                    " * 16.0F));");
    }
  }

  void exchange_through_shared() {
    const std::string threads = std::to_string(threads_) + "U";
    const std::string offset = std::to_string(random_.below(256));
    const std::string factor = std::to_string(random_.below(64) * 2 + 1);
    const std::string from = "(t * " + factor + "U + " + offset + "U) % " + threads;
    const std::string i = integer();
    const std::string r = real();
    line("si[t] = " + i + ";");
    line("sf[t] = " + r + ";");
    line("__syncthreads();");
    line(std::string(integer()) + " += si[" + from + "];");
    line(std::string(real()) + " = sf[" + from + "] * 0.75F;");
    line("__syncthreads();");
  }

  void shuffle() {
    const std::string width = std::to_string(std::uint64_t{2} << random_.below(5));
    const std::string i = integer();
    const std::string r = real();
    const std::string amount = std::to_string(random_.below(32));
    switch (random_.below(4)) {
      case 0:
        return line(i + " += __shfl_xor_sync(0xffffffffU, " + integer() + ", " + amount + ", 32);");
      case 1:
        return line(r + " = __shfl_down_sync(0xffffffffU, " + std::string(real()) + ", " + amount +
                    ", " + width + ");");
      case 2:
        return line(r + " = __shfl_up_sync(0xffffffffU, " + std::string(real()) + ", " + amount +
                    ", " + width + ");");
      default: {
        const std::string source = integer();
        return line(i + " ^= __shfl_sync(0xffffffffU, " + std::string(integer()) +
                    ", static_cast<int>(" + source + " & 31U), " + width + ");");
      }
    }
  }

  void vote() {
    const std::string condition = some_bit();
    const std::string i = integer();
    switch (random_.below(4)) {
      case 0:
        return line(i + " += __ballot_sync(0xffffffffU, " + condition + ");");
      case 1:
        return line(i + " += static_cast<unsigned>(__syncthreads_count(" + condition + "));");
      case 2:
        return line(i + " += __any_sync(0xffffffffU, " + condition + ") ? 3U : 5U;");
      default:
        return line(i + " ^= __match_any_sync(0xffffffffU, " + std::string(integer()) + " & 3U);");
    }
  }

  void branch() {
    line("if (" + some_bit() + ") {");
    nested(1 + random_.below(3));
    line("} else {");
    nested(1 + random_.below(2));
    line("}");
  }

  void loop() {
    const std::string variable = integer();
    const std::string least = std::to_string(1 + random_.below(4));
    line("for (unsigned i = 0; i < " + least + "U + (" + variable + " & 3U); ++i) {");
    nested(1 + random_.below(3));
    line("  a += i;");
    line("  if (i > 8U) break;");
    line("}");
  }

  /// Arithmetic only: threads may come here without the others.
  void nested(std::uint64_t statements) {
    indent_ += "  ";
    for (std::uint64_t i = 0; i < statements; ++i) arithmetic();
    indent_.resize(indent_.size() - 2);
  }

  void count_by_atomics() {
    line("si[t] = 0U;");
    line("__syncthreads();");
    line("atomicAdd(&si[" + std::string(integer()) + " % " + std::to_string(threads_) +
         "U], t + 1U);");
    line("__syncthreads();");
    line(std::string(integer()) + " += si[t];");
    line("__syncthreads();");
  }

  std::ostream& out_;
  Random random_;
  int number_;
  int threads_ = 32;
  std::string indent_ = "  ";
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: generate_kernels SEED COUNT OUTPUT\n";
    return 2;
  }
  std::ofstream out(argv[3]);
  out << "// Written by generate_kernels " << argv[1] << " " << argv[2] << ".\n\n"
      << "#include \"common/emulation/tests/features/feature.hpp\"\n\n"
      << "namespace convlab::features {\nnamespace {\n\n";
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const int count = std::atoi(argv[2]);
  for (int i = 0; i < count; ++i) KernelWriter(out, seed, i).write();
  out << "}  // namespace\n}  // namespace convlab::features\n";
  return out.flush() ? 0 : 3;
}
