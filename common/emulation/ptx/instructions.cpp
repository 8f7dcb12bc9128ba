// The instructions of PTX that run in device emulation.
//
// Their names are words joined by dots, of which some only advise the hardware (cache hints): what
// is left once these are gone is looked up.

#include <algorithm>
#include <map>

#include "common/emulation/ptx/translate.hpp"

namespace convlab::ptx {
namespace {

using Kind = Slot::Kind;
using Words = std::vector<std::string_view>;

constexpr int kWord = 4;
constexpr int kLong = 8;
constexpr const char* kSameWord = "compute([](unsigned a) { return a; })";
constexpr const char* kSameLong = "compute([](unsigned long long a) { return a; })";

Slot write(int count, int bytes = kWord) {
  return {Kind::kWrite, bytes, count};
}
Slot read(int count, int bytes = kWord) {
  return {Kind::kRead, bytes, count};
}
const Slot kAddress{Kind::kAddress, kLong, 1};
const Slot kImmediate{Kind::kImmediate, kWord, 1};

/// Instructions with one name only.
const std::map<std::string_view, Instruction>& fixed_instructions() {
  static const std::map<std::string_view, Instruction> instructions = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       {"mma<0>", {write(4), read(4), read(2), read(4)}}},
      {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
       {"mma<1>", {write(2), read(4), read(2), read(2)}}},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       {"mma<2>", {write(4), read(2), read(1), read(4)}}},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
       {"mma<3>", {write(4), read(4), read(2), read(4)}}},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
       {"mma<4>", {write(4), read(4), read(2), read(4)}}},
      {"cp.async.commit_group", {"copy_commit", {}}},
      {"cp.async.wait_group", {"copy_wait", {kImmediate}}},
      {"cp.async.wait_all", {"copy_wait_all", {}}},
      {"cvt.rn.f16x2.f32", {"convert_to_half2", {write(1), read(1), read(1)}}},
      {"cvt.rna.tf32.f32",
       {"compute([](unsigned a) { return ::convlab::emulation::to_tf32(a); })",
        {write(1), read(1)}}},
      {"cvta.to.shared.u64", {"to_shared", {write(1, kLong), read(1, kLong)}}},
      {"cvta.to.global.u64", {kSameLong, {write(1, kLong), read(1, kLong)}}},
      {"bar.sync", {"barrier<true>", {kImmediate, kImmediate}, 1}},
      {"barrier.sync", {"barrier<true>", {kImmediate, kImmediate}, 1}},
      {"bar.arrive", {"barrier<false>", {kImmediate, kImmediate}}},
      {"barrier.arrive", {"barrier<false>", {kImmediate, kImmediate}}},
      {"not.b32", {"compute([](unsigned a) { return ~a; })", {write(1), read(1)}}},
      // A bit of the last operand for each way in which three bits may stand.
      {"lop3.b32",
       {"compute([](unsigned a, unsigned b, unsigned c, unsigned ways) { unsigned d = 0; for "
        "(unsigned i = 0; i < 8; ++i) if ((ways >> i & 1U) != 0) d |= (i & 4U ? a : ~a) & "
        "(i & 2U ? b : ~b) & (i & 1U ? c : ~c); return d; })",
        {write(1), read(1), read(1), read(1), read(1)}}},
      {"membar.cta", {"fence", {}}},
      {"membar.gl", {"fence", {}}},
      {"membar.sys", {"fence", {}}},
      {"prefetch.global.L1", {"prefetch", {kAddress}}},
      {"prefetch.global.L2", {"prefetch", {kAddress}}},
      {"prefetch.L1", {"prefetch", {kAddress}}},
      {"prefetch.L2", {"prefetch", {kAddress}}},
      {"trap", {"trap", {}}},
  };
  return instructions;
}

Words words_of(std::string_view name) {
  Words words;
  while (!name.empty()) {
    const std::size_t dot = name.find('.');
    words.push_back(name.substr(0, dot));
    name.remove_prefix(dot == std::string_view::npos ? name.size() : dot + 1);
  }
  return words;
}

/// Takes a word out if it stands at the front. @return whether it did
bool take(Words& words, std::string_view word) {
  if (words.empty() || words.front() != word) return false;
  words.erase(words.begin());
  return true;
}

/// Takes words out as long as they begin with one of these.
void take_hints(Words& words, std::initializer_list<std::string_view> beginnings) {
  while (!words.empty() && std::ranges::any_of(beginnings, [&](std::string_view beginning) {
    return words.front().substr(0, beginning.size()) == beginning;
  }))
    words.erase(words.begin());
}

std::optional<Instruction> load_matrix(Words words) {
  for (const std::string_view word : {"ldmatrix", "sync", "aligned"})
    if (!take(words, word)) return std::nullopt;
  // The PTX ISA has the shape first; nvcc takes other orders, too, and many programs have one.
  const bool shape_first = take(words, "m8n8");
  const int count = take(words, "x1") ? 1 : take(words, "x2") ? 2 : take(words, "x4") ? 4 : 0;
  const bool transposed = take(words, "trans");
  if (count == 0 || !(shape_first || take(words, "m8n8")) ||
      !(take(words, "shared") || take(words, "shared::cta")) || !take(words, "b16") ||
      !words.empty())
    return std::nullopt;
  return Instruction{transposed ? "load_matrices<true>" : "load_matrices<false>",
                     {write(count), kAddress}};
}

std::optional<Instruction> begin_copy(Words words) {
  if (!take(words, "cp") || !take(words, "async")) return std::nullopt;
  const bool around_l1 = take(words, "cg");
  if (!around_l1 && !take(words, "ca")) return std::nullopt;
  if (!take(words, "shared") && !take(words, "shared::cta")) return std::nullopt;
  if (!take(words, "global")) return std::nullopt;
  take_hints(words, {"L2::"});
  if (!words.empty()) return std::nullopt;
  return Instruction{
      around_l1 ? "copy<true>" : "copy<false>", {kAddress, kAddress, kImmediate, kImmediate}, 1};
}

/// Loads and stores, with the hints that these have.
std::optional<Instruction> access_memory(Words words) {
  const bool load = take(words, "ld");
  if (!load && !take(words, "st")) return std::nullopt;
  const bool shared = take(words, "shared") || take(words, "shared::cta");
  if (!shared && !take(words, "global")) return std::nullopt;
  if (load)
    take_hints(words, {"nc", "ca", "cg", "cs", "lu", "cv", "L1::", "L2::"});
  else
    take_hints(words, {"wb", "cg", "cs", "wt", "L1::", "L2::"});
  const int count = take(words, "v2") ? 2 : take(words, "v4") ? 4 : 1;
  if (words.size() != 1 || words[0].size() != 3) return std::nullopt;
  static constexpr std::string_view kTypes = "bfus";
  const std::string_view bits = words[0].substr(1);
  const int bytes = bits == "32" ? kWord : bits == "64" ? kLong : 0;
  if (kTypes.find(words[0][0]) == std::string_view::npos || bytes == 0 || count * bytes > 16)
    return std::nullopt;
  const std::string space = shared ? "<true>" : "<false>";
  if (load) return Instruction{"load" + space, {write(count, bytes), kAddress}};
  return Instruction{"store" + space, {kAddress, read(count, bytes)}};
}

/// mov between registers, also from a special one.
std::optional<Instruction> move(Words words) {
  if (!take(words, "mov") || words.size() != 1) return std::nullopt;
  const int bytes = words[0].ends_with("32") ? kWord : words[0].ends_with("64") ? kLong : 0;
  if (bytes == 0) return std::nullopt;
  return Instruction{bytes == kWord ? kSameWord : kSameLong, {write(1, bytes), read(1, bytes)}};
}

/// The C++ type of a register's type, and its bytes. A predicate is a word, 0 or 1.
struct Type {
  std::string_view text;
  int bytes = 0;
};

const Type* find_type(std::string_view name) {
  static const std::map<std::string_view, Type> types = {{"u32", {"unsigned", kWord}},
                                                         {"b32", {"unsigned", kWord}},
                                                         {"s32", {"int", kWord}},
                                                         {"f32", {"float", kWord}},
                                                         {"u64", {"unsigned long long", kLong}},
                                                         {"b64", {"unsigned long long", kLong}},
                                                         {"s64", {"long long", kLong}},
                                                         {"f64", {"double", kLong}},
                                                         {"pred", {"unsigned", kWord}}};
  const auto known = types.find(name);
  return known == types.end() ? nullptr : &known->second;
}

/// Conversions that C++ rounds as PTX does: between whole numbers, and to floating point.
/// Source: PTX ISA, "cvt".
std::optional<Instruction> convert(Words words) {
  if (!take(words, "cvt")) return std::nullopt;
  take_hints(words, {"rn", "ftz"});
  if (words.size() != 2 || (words[1].starts_with('f') && !words[0].starts_with('f')))
    return std::nullopt;
  const Type* const to = find_type(words[0]);
  const Type* const from = find_type(words[1]);
  if (to == nullptr || from == nullptr) return std::nullopt;
  return Instruction{
      joined({"compute([](", from->text, " a) { return static_cast<", to->text, ">(a); })"}),
      {write(1, to->bytes), read(1, from->bytes)}};
}

/// Arithmetic in registers, as expressions of C++ of the operands a, b, c.
/// Source: PTX ISA, "Integer Arithmetic", "Floating-Point Instructions", "Comparison and
/// Selection", "Logic and Shift".
std::optional<Instruction> compute(Words words) {
#define PTX "::convlab::emulation::ptx::"
  struct Operation {
    int operands;
    std::string_view whole;      ///< for whole numbers
    std::string_view real = {};  ///< for floating point, single precision where it has f(
  };
  static const std::map<std::string_view, Operation> operations = {
      {"add", {2, "a + b", "a + b"}},
      {"sub", {2, "a - b", "a - b"}},
      {"mul", {2, {}, "a * b"}},
      {"mul.lo", {2, "a * b"}},
      {"mad.lo", {3, "a * b + c"}},
      {"fma", {3, {}, "::std::fma(a, b, c)"}},
      {"div", {2, "a / b", "a / b"}},
      {"rem", {2, "a % b"}},
      {"neg", {1, "0 - a", "-a"}},
      {"abs", {1, "a < 0 ? 0ULL - a : a", "::std::fabs(a)"}},
      {"min", {2, "b < a ? b : a", "::min(a, b)"}},
      {"max", {2, "a < b ? b : a", "::max(a, b)"}},
      {"setp.eq", {2, "a == b", "a == b"}},
      {"setp.ne", {2, "a != b", "a < b || a > b"}},
      {"setp.lt", {2, "a < b", "a < b"}},
      {"setp.le", {2, "a <= b", "a <= b"}},
      {"setp.gt", {2, "a > b", "a > b"}},
      {"setp.ge", {2, "a >= b", "a >= b"}},
      {"selp", {3, "c != 0 ? a : b", "c != 0 ? a : b"}},
      {"and", {2, "a & b"}},
      {"or", {2, "a | b"}},
      {"xor", {2, "a ^ b"}},
      {"shl", {2, PTX "shifted_left(a, b)"}},
      {"shr", {2, PTX "shifted_right(a, b)"}},
      {"rcp", {1, {}, "1 / a"}},
      {"sqrt", {1, {}, "::std::sqrt(a)"}},
      {"ex2", {1, {}, "::exp2f(a)"}},
      {"lg2", {1, {}, "::log2f(a)"}},
      {"tanh", {1, {}, "::tanhf(a)"}},
  };
#undef PTX
  if (words.size() < 2) return std::nullopt;
  std::string name(words[0]);
  words.erase(words.begin());
  const bool compares = name == "setp";
  if (compares || words[0] == "lo") {
    name.append(".").append(words[0]);
    words.erase(words.begin());
  }
  take_hints(words, {"rn", "approx", "full", "ftz"});
  const auto operation = operations.find(name);
  const Type* type = words.size() == 1 ? find_type(words[0]) : nullptr;
  if (operation == operations.end() || type == nullptr) return std::nullopt;
  const auto& [count, whole, real] = operation->second;
  const std::string_view expression = words[0].starts_with('f') ? real : whole;
  const bool of_word = expression.find("f(") != real.npos;
  if (expression.empty() || (type->bytes == kLong && of_word)) return std::nullopt;
  // Where the sign makes no difference, whole numbers have none: what is too large wraps around.
  if (name == "add" || name == "sub" || name == "neg" || name.ends_with(".lo"))
    if (words[0].starts_with('s')) type = find_type(type->bytes == kWord ? "u32" : "u64");
  // Of shifts the second operand is a word, and of a selection the last one.
  const int word = name == "selp" ? 2 : name == "shl" || name == "shr" ? 1 : -1;
  const Type result = compares ? Type{"unsigned", kWord} : *type;
  std::vector<Slot> slots = {write(1, result.bytes)};
  std::string parameters;
  for (int i = 0; i < count; ++i) {
    const char letter = static_cast<char>('a' + i);
    const Type each = i == word ? Type{"unsigned", kWord} : *type;
    parameters += joined({i == 0 ? "" : ", ", each.text, " ", std::string_view(&letter, 1)});
    slots.push_back(read(1, each.bytes));
  }
  return Instruction{
      joined({"compute([](", parameters, ") -> ", result.text, " { return ", expression, "; })"}),
      slots};
}

}  // namespace

std::optional<std::string_view> find_special_register(std::string_view name) {
  static const std::map<std::string_view, std::string_view> registers = {
      {"tid.x", "threadIdx.x"},
      {"tid.y", "threadIdx.y"},
      {"tid.z", "threadIdx.z"},
      {"ntid.x", "blockDim.x"},
      {"ntid.y", "blockDim.y"},
      {"ntid.z", "blockDim.z"},
      {"ctaid.x", "blockIdx.x"},
      {"ctaid.y", "blockIdx.y"},
      {"ctaid.z", "blockIdx.z"},
      {"nctaid.x", "gridDim.x"},
      {"nctaid.y", "gridDim.y"},
      {"nctaid.z", "gridDim.z"},
      {"laneid", "static_cast<unsigned>(::convlab::emulation::lane_id())"},
      {"warpid", "static_cast<unsigned>(::convlab::emulation::thread_rank() / 32)"},
      {"nwarpid", "64U"},
      {"smid", "::convlab::emulation::ptx::multiprocessor()"},
      {"nsmid", "::convlab::emulation::ptx::multiprocessors()"},
      {"lanemask_eq", "(1U << ::convlab::emulation::lane_id())"},
      {"lanemask_lt", "((1U << ::convlab::emulation::lane_id()) - 1U)"},
      {"lanemask_le", "((2U << ::convlab::emulation::lane_id()) - 1U)"},
      {"lanemask_gt", "~((2U << ::convlab::emulation::lane_id()) - 1U)"},
      {"lanemask_ge", "~((1U << ::convlab::emulation::lane_id()) - 1U)"},
      {"clock", "static_cast<unsigned>(clock64())"},
      {"clock64", "static_cast<unsigned long long>(clock64())"},
      {"globaltimer", "static_cast<unsigned long long>(clock64())"},
      {"globaltimer_lo", "static_cast<unsigned>(clock64())"},
  };
  const auto known = registers.find(name);
  return known == registers.end() ? std::nullopt : std::optional(known->second);
}

std::optional<Instruction> find_instruction(std::string_view name) {
  if (const auto known = fixed_instructions().find(name); known != fixed_instructions().end())
    return known->second;
  const Words words = words_of(name);
  for (const auto find : {load_matrix, begin_copy, access_memory, move, convert, compute})
    if (auto instruction = find(words)) return instruction;
  return std::nullopt;
}

}  // namespace convlab::ptx
