// Translates an asm statement to C++.
//
// Idea     The PTX in kernels of the course is short: one instruction, or a few in braces with a
//          register of their own. Each instruction becomes a call of a function in ptx.hpp.
// Picture  asm("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(b) : "r"(address));
//
//          do { auto&& convlab_0 = b; auto&& convlab_1 = address;
//               ptx::load_matrices<false>(ptx::list(ptx::write<4>(convlab_0)),
//                                         ptx::address(convlab_1, 0)); } while (false);

#include "common/emulation/ptx/translate.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace convlab::ptx {
namespace {

// ---- instructions -------------------------------------------------------------------------------
// Their names are words joined by dots, of which some only advise the hardware (cache hints): what
// is left once these are gone is looked up.

/// What an instruction takes at one place.
struct Slot {
  enum class Kind {
    kWrite,      ///< a register, or {…} of several, that receives the result
    kRead,       ///< a register, or {…} of several; a number if there is only one
    kAddress,    ///< [register + offset]
    kImmediate,  ///< a number, literal or an operand
  };
  Kind kind;
  int bytes;  ///< of a register
  int count;  ///< of registers; 1: no braces
};

/// A known instruction: the function of ptx.hpp that does its work, and its operands.
struct Instruction {
  std::string function;
  std::vector<Slot> slots;
  int optional_slots = 0;  ///< of these, how many may be left out at the end
};

using Kind = Slot::Kind;
using Words = std::vector<std::string_view>;

constexpr int kWord = 4;
constexpr int kLong = 8;

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
      {"cvt.u32.u64", {"shorten", {write(1), read(1, kLong)}}},
      {"cvta.to.shared.u64", {"to_shared", {write(1, kLong), read(1, kLong)}}},
      {"cvta.to.global.u64", {"to_global", {write(1, kLong), read(1, kLong)}}},
      {"bar.sync", {"block_barrier_zero", {kImmediate}}},
      {"barrier.sync", {"block_barrier_zero", {kImmediate}}},
      {"membar.cta", {"fence", {}}},
      {"membar.gl", {"fence", {}}},
      {"membar.sys", {"fence", {}}},
      {"prefetch.global.L1", {"prefetch", {kAddress}}},
      {"prefetch.global.L2", {"prefetch", {kAddress}}},
      {"prefetch.L1", {"prefetch", {kAddress}}},
      {"prefetch.L2", {"prefetch", {kAddress}}},
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
  })) {
    words.erase(words.begin());
  }
}

std::optional<Instruction> load_matrix(Words words) {
  for (const std::string_view word : {"ldmatrix", "sync", "aligned"}) {
    if (!take(words, word)) return std::nullopt;
  }
  // The PTX ISA has the shape first; nvcc takes other orders, too, and many programs have one.
  const bool shape_first = take(words, "m8n8");
  const int count = take(words, "x1") ? 1 : take(words, "x2") ? 2 : take(words, "x4") ? 4 : 0;
  const bool transposed = take(words, "trans");
  if (count == 0 || !(shape_first || take(words, "m8n8")) ||
      !(take(words, "shared") || take(words, "shared::cta")) || !take(words, "b16") ||
      !words.empty()) {
    return std::nullopt;
  }
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
      around_l1 ? "copy_around_l1" : "copy", {kAddress, kAddress, kImmediate, kImmediate}, 1};
}

/// Loads and stores, with the hints that these have.
std::optional<Instruction> access_memory(Words words) {
  const bool load = take(words, "ld");
  if (!load && !take(words, "st")) return std::nullopt;
  const bool shared = take(words, "shared") || take(words, "shared::cta");
  if (!shared && !take(words, "global")) return std::nullopt;
  if (load) {
    take_hints(words, {"nc", "ca", "cg", "cs", "lu", "cv", "L1::", "L2::"});
  } else {
    take_hints(words, {"wb", "cg", "cs", "wt", "L1::", "L2::"});
  }
  const int count = take(words, "v2") ? 2 : take(words, "v4") ? 4 : 1;
  if (words.size() != 1 || words[0].size() != 3) return std::nullopt;
  static constexpr std::string_view kTypes = "bfus";
  const std::string_view bits = words[0].substr(1);
  const int bytes = bits == "32" ? kWord : bits == "64" ? kLong : 0;
  if (kTypes.find(words[0][0]) == std::string_view::npos || bytes == 0 || count * bytes > 16) {
    return std::nullopt;
  }
  const std::string space = shared ? "<true>" : "<false>";
  if (load) return Instruction{"load" + space, {write(count, bytes), kAddress}};
  return Instruction{"store" + space, {kAddress, read(count, bytes)}};
}

/// mov between registers, also from a special one.
std::optional<Instruction> move(Words words) {
  if (!take(words, "mov") || words.size() != 1) return std::nullopt;
  const int bytes = words[0].ends_with("32") ? kWord : words[0].ends_with("64") ? kLong : 0;
  if (bytes == 0) return std::nullopt;
  return Instruction{"move", {write(1, bytes), read(1, bytes)}};
}

/// Arithmetic in registers, as expressions of C++ of the operands a, b, c, d.
/// Source: PTX ISA, "Integer Arithmetic", "Floating-Point Instructions", "Logic and Shift".
std::optional<Instruction> compute(Words words) {
  struct Operation {
    int operands;
    std::string_view whole;      ///< for whole numbers, of 32 bits where there is a :: in it
    std::string_view real = {};  ///< for float
  };
  static const std::map<std::string_view, Operation> operations = {
      {"add", {2, "a + b", "a + b"}},
      {"sub", {2, "a - b", "a - b"}},
      {"mul", {2, {}, "a * b"}},
      {"mul.lo", {2, "a * b"}},
      {"mul.hi", {2, "::convlab::emulation::ptx::high_product(a, b)"}},
      {"mad.lo", {3, "a * b + c"}},
      {"fma", {3, {}, "::fmaf(a, b, c)"}},
      {"div", {2, "a / b", "a / b"}},
      {"rem", {2, "a % b"}},
      {"neg", {1, "0 - a", "-a"}},
      {"abs", {1, "a < 0 ? 0 - a : a", "::fabsf(a)"}},
      {"min", {2, "b < a ? b : a", "::fminf(a, b)"}},
      {"max", {2, "a < b ? b : a", "::fmaxf(a, b)"}},
      {"and", {2, "a & b"}},
      {"or", {2, "a | b"}},
      {"xor", {2, "a ^ b"}},
      {"not", {1, "~a"}},
      {"shl", {2, "::convlab::emulation::ptx::shifted_left(a, b)"}},
      {"shr", {2, "::convlab::emulation::ptx::shifted_right(a, b)"}},
      {"popc", {1, "::__popc(a)"}},
      {"clz", {1, "::__clz(a)"}},
      {"brev", {1, "::__brev(a)"}},
      {"prmt", {3, "::__byte_perm(a, b, c)"}},
      {"bfe", {3, "::convlab::emulation::ptx::bit_field(a, b, c)"}},
      {"bfi", {4, "::convlab::emulation::ptx::with_bit_field(a, b, c, d)"}},
      {"lop3", {4, "::convlab::emulation::ptx::logic(a, b, c, d)"}},
      {"rcp", {1, {}, "1 / a"}},
      {"sqrt", {1, {}, "::sqrtf(a)"}},
      {"rsqrt", {1, {}, "::rsqrtf(a)"}},
      {"ex2", {1, {}, "::exp2f(a)"}},
      {"lg2", {1, {}, "::log2f(a)"}},
      {"sin", {1, {}, "::sinf(a)"}},
      {"cos", {1, {}, "::cosf(a)"}},
      {"tanh", {1, {}, "::tanhf(a)"}},
  };
  static const std::map<std::string_view, std::pair<const char*, int>> types = {
      {"u32", {"unsigned", 4}},
      {"b32", {"unsigned", 4}},
      {"s32", {"int", 4}},
      {"f32", {"float", 4}},
      {"u64", {"unsigned long long", 8}},
      {"b64", {"unsigned long long", 8}}};
  std::string name(words[0]);
  words.erase(words.begin());
  if (!words.empty() && (words[0] == "lo" || words[0] == "hi"))
    name.append(".").append(words[0]), words.erase(words.begin());
  take_hints(words, {"rn", "approx", "full", "ftz"});
  const auto operation = operations.find(name);
  if (operation == operations.end() || words.size() != 1) return std::nullopt;
  const auto type = types.find(words[0]);
  if (type == types.end()) return std::nullopt;
  const auto& [count, whole, real] = operation->second;
  const auto [text, bytes] = type->second;
  const std::string_view expression = words[0] == "f32" ? real : whole;
  if (expression.empty() || (bytes == kLong && expression.starts_with("::"))) return std::nullopt;
  std::string parameters;
  for (char letter = 'a'; letter < 'a' + count; ++letter)
    parameters += joined({letter == 'a' ? "" : ", ", text, " ", std::string_view(&letter, 1)});
  Instruction result{
      joined({"compute([](", parameters, ") -> ", text, " { return ", expression, "; })"}),
      {write(1, bytes)}};
  result.slots.resize(1 + static_cast<std::size_t>(count), read(1, bytes));
  return result;
}

/// What a special register, such as "laneid" of %laneid, holds, as an expression of C++.
/// Source: PTX ISA, "Special Registers".
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

/// @param name  with all its modifiers: "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
std::optional<Instruction> find_instruction(std::string_view name) {
  if (const auto known = fixed_instructions().find(name); known != fixed_instructions().end()) {
    return known->second;
  }
  const Words words = words_of(name);
  for (const auto find : {load_matrix, begin_copy, access_memory, move, compute}) {
    if (auto instruction = find(words)) return instruction;
  }
  return std::nullopt;
}

// ---- statements ---------------------------------------------------------------------------------

constexpr std::string_view kFunctions = "::convlab::emulation::ptx::";

/// Describes what is wrong, for the student.
struct Refusal {
  std::string reason;
};

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Blanks in the place of comments.
std::string without_comments(std::string code) {
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>{"/*", "*/"},
                                    std::pair<std::string_view, std::string_view>{"//", "\n"}}) {
    for (auto begin = code.find(open); begin != std::string::npos; begin = code.find(open)) {
      const auto end = code.find(close, begin + 2);
      const auto length =
          end == std::string::npos ? code.size() - begin : end + close.size() - begin;
      code.replace(begin, length, 1, ' ');
    }
  }
  return code;
}

/// Splits at a separator outside of brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '{' || text[i] == '[')) ++depth;
    if (i < text.size() && (text[i] == '}' || text[i] == ']')) --depth;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

bool is_number(std::string_view text) {
  if (text.starts_with("0x"))
    return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

class Translator {
 public:
  explicit Translator(const AsmStatement& statement) : statement_(statement) {}

  std::string run() {
    std::string code = "do {";
    for (std::size_t i = 0; i < statement_.operands.size(); ++i) {
      check_constraint(statement_.operands[i]);
      // As an operand of nvcc it is evaluated once, and it may be an expression.
      const std::string name = name_of(i);
      code += joined(
          {" auto&& ", name, " = (", statement_.operands[i].expression, "); (void)", name, ";"});
    }
    std::string text = without_comments(statement_.code);
    // Braces around the whole only keep its registers to itself.
    std::string_view rest = trimmed(text);
    if (!rest.empty() && rest.front() == '{' && rest.back() == '}') {
      rest = rest.substr(1, rest.size() - 2);
    }
    for (const std::string_view part : split(rest, ';')) {
      if (!part.empty()) code += joined({" ", instruction(part), ";"});
    }
    return code + " } while (false)";
  }

 private:
  static std::string name_of(std::size_t operand) {
    return joined({"convlab_", std::to_string(operand)});
  }

  static void check_constraint(const Operand& operand) {
    std::string_view letter = operand.constraint;
    while (!letter.empty() &&
           (letter.front() == '=' || letter.front() == '+' || letter.front() == '&')) {
      letter.remove_prefix(1);
    }
    if (letter != "r" && letter != "f" && letter != "l" && letter != "d" && letter != "n") {
      throw Refusal{joined({"an operand with the constraint \"", operand.constraint, "\""})};
    }
  }

  std::string instruction(std::string_view text) {
    const std::size_t end = text.find_first_of(" \t\n");
    const std::string_view name = text.substr(0, end);
    const std::string_view rest =
        end == std::string_view::npos ? std::string_view{} : trimmed(text.substr(end));
    if (name == ".reg") return declaration(rest);
    if (name.front() == '@') throw Refusal{joined({"a predicate, as in '", name, "'"})};
    const auto known = find_instruction(name);
    if (!known) throw Refusal{joined({"'", name, "'"})};

    std::vector<std::string_view> given;
    if (!rest.empty()) given = split(rest, ',');
    const std::size_t most = known->slots.size();
    if (given.size() > most ||
        given.size() + static_cast<std::size_t>(known->optional_slots) < most) {
      throw Refusal{joined({"'", name, "' with ", std::to_string(given.size()), " operands"})};
    }
    std::string arguments;
    for (std::size_t i = 0; i < given.size(); ++i) {
      arguments += joined({i > 0 ? ", " : "", argument(given[i], known->slots[i])});
    }
    return joined({kFunctions, known->function, "(", arguments, ")"});
  }

  /// .reg .u64 address
  std::string declaration(std::string_view rest) {
    const std::size_t space = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view type = rest.substr(0, space);
    const bool is_long = type == ".u64" || type == ".b64" || type == ".s64";
    if (!is_long && type != ".u32" && type != ".b32" && type != ".s32") {
      throw Refusal{joined({"'.reg ", rest, "'"})};
    }
    std::string code = is_long ? "unsigned long long" : "unsigned";
    std::string separator = " ";
    for (const std::string_view name : split(rest.substr(space), ',')) {
      registers_.insert(std::string(name));
      code += joined({separator, register_name(name), " = 0"});
      separator = ", ";
    }
    return code;
  }

  static std::string register_name(std::string_view name) {
    return joined({"convlab_register_", name[0] == '%' ? name.substr(1) : name});
  }

  std::string argument(std::string_view text, const Slot& slot) {
    switch (slot.kind) {
      case Slot::Kind::kImmediate:
        return is_number(text) ? std::string(text) : variable(text);
      case Slot::Kind::kAddress:
        return address(text);
      case Slot::Kind::kWrite:
      case Slot::Kind::kRead:
        return registers(text, slot);
    }
    return {};
  }

  std::string registers(std::string_view text, const Slot& slot) {
    const bool braces = text.size() >= 2 && text.front() == '{' && text.back() == '}';
    const auto names =
        braces ? split(text.substr(1, text.size() - 2), ',') : std::vector<std::string_view>{text};
    if (names.size() != static_cast<std::size_t>(slot.count)) {
      throw Refusal{joined({std::to_string(names.size()), " registers in the place of ",
                            std::to_string(slot.count)})};
    }
    const std::string bytes = std::to_string(slot.bytes);
    const std::string access = slot.kind == Slot::Kind::kWrite ? "write<" : "read<";
    std::string code = joined({kFunctions, "list("});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (slot.kind == Slot::Kind::kWrite) check_written(names[i]);
      code += i > 0 ? ", " : "";
      const bool number = slot.kind == Slot::Kind::kRead && is_number(names[i]);
      code += joined({kFunctions, access, bytes, ">(",
                      number ? std::string(names[i]) : variable(names[i]), ")"});
    }
    return code + ")";
  }

  void check_written(std::string_view text) const {
    const auto operand = operand_of(text);
    if (operand &&
        statement_.operands[*operand].constraint.find_first_of("=+") == std::string::npos) {
      throw Refusal{joined({"a result in ", text, ", which is an input"})};
    }
  }

  /// [%1], [%1 + 16], [register]
  std::string address(std::string_view text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
      throw Refusal{joined({"the address '", text, "'"})};
    }
    text = text.substr(1, text.size() - 2);
    const std::size_t plus = text.find('+');
    const std::string_view offset =
        plus == std::string_view::npos ? "0" : trimmed(text.substr(plus + 1));
    if (!is_number(offset)) throw Refusal{joined({"the offset '", offset, "'"})};
    return joined(
        {kFunctions, "address(", variable(trimmed(text.substr(0, plus))), ", ", offset, ")"});
  }

  [[nodiscard]] std::optional<std::size_t> operand_of(std::string_view text) const {
    if (text.size() < 2 || text[0] != '%' || !is_number(text.substr(1)) || text.size() > 4) {
      return std::nullopt;
    }
    const std::size_t operand = std::stoul(std::string(text.substr(1)));
    if (operand >= statement_.operands.size()) {
      throw Refusal{joined({text, ", for which there is no operand"})};
    }
    return operand;
  }

  /// The C++ name of %N or of a register that the statement declares.
  std::string variable(std::string_view text) {
    if (const auto operand = operand_of(text)) return name_of(*operand);
    if (registers_.count(std::string(text)) > 0) return register_name(text);
    // In a statement with operands %% stands for one %.
    std::string_view name = text;
    while (name.starts_with('%')) name.remove_prefix(1);
    if (name.size() < text.size())
      if (const auto special = find_special_register(name)) return std::string(*special);
    throw Refusal{joined({"'", text, "' as an operand"})};
  }

  const AsmStatement& statement_;
  std::set<std::string> registers_;
};

}  // namespace

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string result;
  for (const std::string_view part : parts) result += part;
  return result;
}

Translation translate(const AsmStatement& statement) {
  try {
    return {Translator(statement).run(), {}};
  } catch (const Refusal& refusal) {
    return {{}, refusal.reason};
  }
}

}  // namespace convlab::ptx
