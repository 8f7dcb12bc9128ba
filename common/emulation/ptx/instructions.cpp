// The instructions of PTX that run in device emulation.
//
// Their names are words joined by dots, of which some only advise the hardware (cache hints): what
// is left once these are gone is looked up.

#include <algorithm>
#include <map>

#include "common/emulation/ptx/instruction_words.hpp"

namespace convlab::ptx {
namespace {

using Kind = Slot::Kind;

constexpr const char* kSameWord = "compute([](unsigned a) { return a; })";
constexpr const char* kSameLong = "compute([](unsigned long long a) { return a; })";

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
      {"bar.warp.sync", {"wait_for_warp", {kImmediate}}},
      {"bar.arrive", {"barrier<false>", {kImmediate, kImmediate}}},
      {"barrier.arrive", {"barrier<false>", {kImmediate, kImmediate}}},
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

/// Atomic operations without an order. Source: PTX ISA, "atom", "red".
std::optional<Instruction> change_memory(Words words) {
  const bool results = take(words, "atom");
  if (!results && !take(words, "red")) return std::nullopt;
  take(words, "relaxed");
  const bool in_block = take(words, "cta");
  if (!take(words, "gpu")) take(words, "sys");
  const bool shared = take(words, "shared") || take(words, "shared::cta");
  if (!shared) take(words, "global");
  static const std::map<std::string_view, std::pair<std::string_view, std::string_view>> functions =
      {{"add", {"Add", "u32 s32 u64 f32 f64"}},
       {"min", {"Min", "u32 s32 u64 s64"}},
       {"max", {"Max", "u32 s32 u64 s64"}},
       {"and", {"And", "b32 b64"}},
       {"or", {"Or", "b32 b64"}},
       {"xor", {"Xor", "b32 b64"}},
       {"exch", {"Exch", "b32 b64"}},
       {"cas", {"CAS", "b32 b64"}},
       {"inc", {"Inc", "u32"}},
       {"dec", {"Dec", "u32"}}};
  if (words.size() != 2) return std::nullopt;
  const auto known = functions.find(words[0]);
  const Type* const type = find_type(words[1]);
  if (known == functions.end() || type == nullptr ||
      known->second.second.find(words[1]) == std::string_view::npos)
    return std::nullopt;
  const bool compares = words[0] == "cas";
  std::vector<Slot> slots = {kAddress, read(1, type->bytes)};
  if (compares) slots.push_back(slots.back());
  if (results) slots.insert(slots.begin(), write(1, type->bytes));
  return Instruction{joined({results ? "exchange<" : "update<", shared ? "true, " : "false, ",
                             type->text, ">([](", type->text, "* at, ", type->text, " a",
                             compares ? joined({", ", type->text, " b"}) : "",
                             ") { return ::atomic", known->second.first, in_block ? "_block" : "",
                             "(at, a", compares ? ", b" : "", "); })"}),
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
  for (const auto find : {load_matrix, begin_copy, access_memory, change_memory, move})
    if (auto instruction = find(words)) return instruction;
  return find_arithmetic(words);
}

}  // namespace convlab::ptx
