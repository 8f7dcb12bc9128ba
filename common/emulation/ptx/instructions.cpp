// The instructions of PTX that run in device emulation.
//
// Their names are words joined by dots, of which some only advise the hardware (cache hints): what
// is left once these are gone is looked up.

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
      {"cvt.rna.tf32.f32", {"convert_to_tf32", {write(1), read(1)}}},
      {"cvta.to.shared.u64", {"to_shared", {write(1, kLong), read(1, kLong)}}},
      {"cvta.to.global.u64", {kSameLong, {write(1, kLong), read(1, kLong)}}},
      {"cvt.u32.u64",
       {"compute([](unsigned long long a) { return static_cast<unsigned>(a); })",
        {write(1), read(1, kLong)}}},
      {"setp.ne.b32",
       {"compute([](unsigned a, unsigned b) { return a != b ? 1U : 0U; })",
        {write(1), read(1), read(1)}}},
      {"bar.sync", {"barrier", {kImmediate}}},
      {"prefetch.global.L1", {"prefetch", {kAddress}}},
      {"prefetch.global.L2", {"prefetch", {kAddress}}},
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
  if (!words.empty() && words.front().starts_with("L2::")) words.erase(words.begin());
  if (!words.empty()) return std::nullopt;
  return Instruction{
      around_l1 ? "copy<true>" : "copy<false>", {kAddress, kAddress, kImmediate, kImmediate}, 1};
}

/// mov between registers, also from a special one.
std::optional<Instruction> move(Words words) {
  if (!take(words, "mov") || words.size() != 1) return std::nullopt;
  const int bytes = words[0].ends_with("32") ? kWord : words[0].ends_with("64") ? kLong : 0;
  if (bytes == 0) return std::nullopt;
  return Instruction{bytes == kWord ? kSameWord : kSameLong, {write(1, bytes), read(1, bytes)}};
}

}  // namespace

std::optional<std::string_view> find_special_register(std::string_view name) {
  static const std::map<std::string_view, std::string_view> registers = {
      {"ctaid.x", "blockIdx.x"},
      {"laneid", "static_cast<unsigned>(::convlab::emulation::lane_id())"},
      {"warpid", "static_cast<unsigned>(::convlab::emulation::thread_rank() / 32)"},
      {"smid", "::convlab::emulation::ptx::multiprocessor()"},
      {"nsmid", "::convlab::emulation::ptx::multiprocessors()"},
      {"lanemask_lt", "((1U << ::convlab::emulation::lane_id()) - 1U)"},
      {"clock", "static_cast<unsigned>(clock64())"},
      {"clock64", "static_cast<unsigned long long>(clock64())"},
      {"globaltimer", "static_cast<unsigned long long>(clock64())"},
  };
  const auto known = registers.find(name);
  return known == registers.end() ? std::nullopt : std::optional(known->second);
}

std::optional<Instruction> find_instruction(std::string_view name) {
  if (const auto known = fixed_instructions().find(name); known != fixed_instructions().end())
    return known->second;
  const Words words = words_of(name);
  for (const auto find : {load_matrix, begin_copy, move})
    if (auto instruction = find(words)) return instruction;
  return std::nullopt;
}

}  // namespace convlab::ptx
