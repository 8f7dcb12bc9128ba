// Arithmetic of PTX in registers, as expressions of C++ of the operands a, b, c, d.
// Source: PTX ISA, "Integer Arithmetic", "Extended-Precision Integer Arithmetic", "Floating-Point
// Instructions", "Comparison and Selection", "Logic and Shift", "Data Movement and Conversion".

#include <algorithm>
#include <array>
#include <map>

#include "common/emulation/ptx/instruction_words.hpp"

#define PTX "::convlab::emulation::ptx::"

namespace convlab::ptx {
namespace {

/// An expression of the operands a, b, c, … in registers. Letters name the types of the result and
/// the operands: u and i of 32 bits, U and I of 64, f and d.
Instruction expression_of(std::string_view letters, std::string_view expression) {
  static const std::map<char, std::string_view> names = {{'u', "u32"}, {'i', "s32"}, {'U', "u64"},
                                                         {'I', "s64"}, {'f', "f32"}, {'d', "f64"}};
  std::string parameters;
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const Type& type = *find_type(names.at(letters[i]));
    slots.push_back(i == 0 ? write(1, type.bytes) : read(1, type.bytes));
    const char letter = static_cast<char>('a' + i - 1);
    if (i > 0)
      parameters += joined({i == 1 ? "" : ", ", type.text, " ", std::string_view(&letter, 1)});
  }
  return {joined({"compute([](", parameters, ") -> ", find_type(names.at(letters[0]))->text,
                  " { return ", expression, "; })"}),
          slots};
}

/// Instructions for which there is a function: name, types, expression.
constexpr std::array<std::array<std::string_view, 3>, 48> kCalled = {{
    {"bfe.u32", "uuuu", PTX "extracted_field(a, b, c)"},
    {"bfe.s32", "iiuu", PTX "extracted_field(a, b, c)"},
    {"bfe.u64", "UUuu", PTX "extracted_field(a, b, c)"},
    {"bfe.s64", "IIuu", PTX "extracted_field(a, b, c)"},
    {"bfi.b32", "uuuuu", PTX "inserted_field(a, b, c, d)"},
    {"bfi.b64", "UUUuu", PTX "inserted_field(a, b, c, d)"},
    {"bfind.u32", "uu", PTX "highest_bit(a)"},
    {"bfind.s32", "ui", PTX "highest_bit(a)"},
    {"bfind.u64", "uU", PTX "highest_bit(a)"},
    {"bfind.s64", "uI", PTX "highest_bit(a)"},
    {"brev.b32", "uu", "::__brev(a)"},
    {"brev.b64", "UU", "::__brevll(a)"},
    {"clz.b32", "ui", "::__clz(a)"},
    {"clz.b64", "uI", "::__clzll(a)"},
    {"popc.b32", "uu", "::__popc(a)"},
    {"popc.b64", "uU", "::__popcll(a)"},
    {"not.b32", "uu", "~a"},
    {"cnot.b32", "uu", "a == 0"},
    {"not.b64", "UU", "~a"},
    {"not.pred", "uu", "a == 0"},
    {"prmt.b32", "uuuu", PTX "permuted(a, b, c)"},
    {"sad.u32", "uuuu", "::__usad(a, b, c)"},
    {"sad.s32", "uiiu", "::__sad(a, b, c)"},
    {"shf.l.wrap.b32", "uuuu", "::__funnelshift_l(a, b, c)"},
    {"shf.r.wrap.b32", "uuuu", "::__funnelshift_r(a, b, c)"},
    {"shf.l.clamp.b32", "uuuu", "c >= 32 ? a : ::__funnelshift_l(a, b, c)"},
    {"shf.r.clamp.b32", "uuuu", "c >= 32 ? b : ::__funnelshift_r(a, b, c)"},
    {"mul.hi.u32", "uuu", "::__umulhi(a, b)"},
    {"mul.hi.s32", "iii", "::__mulhi(a, b)"},
    {"mul.hi.u64", "UUU", "::__umul64hi(a, b)"},
    {"mul.hi.s64", "III", "::__mul64hi(a, b)"},
    {"mad.hi.u32", "uuuu", "::__umulhi(a, b) + c"},
    {"mad.hi.s32", "uiiu", "::__mulhi(a, b) + c"},
    {"mad.hi.u64", "UUUU", "::__umul64hi(a, b) + c"},
    {"mul.wide.u32", "Uuu", "1ULL * a * b"},
    {"mul.wide.s32", "Iii", "1LL * a * b"},
    {"mad.wide.u32", "UuuU", "1ULL * a * b + c"},
    {"mad.wide.s32", "UiiU", "1LL * a * b + c"},
    {"mul24.lo.u32", "uuu", "::__umul24(a, b)"},
    {"mul24.lo.s32", "iii", "::__mul24(a, b)"},
    {"dp4a.u32.u32", "uuuu", "::__dp4a(a, b, c)"},
    {"dp4a.s32.s32", "iiii", "::__dp4a(a, b, c)"},
    {"copysign.f32", "fff", "::copysignf(b, a)"},
    {"copysign.f64", "ddd", "::copysign(b, a)"},
    {"activemask.b32", "u", "::__activemask()"},
    {"vote.sync.ballot.b32", "uuu", "::__ballot_sync(b, a)"},
    {"vote.sync.any.pred", "uuu", "::__any_sync(b, a)"},
    {"vote.sync.all.pred", "uuu", "::__all_sync(b, a)"},
}};

std::optional<Instruction> call_function(Words words) {
  std::string name;
  for (const std::string_view word : words) name += joined({name.empty() ? "" : ".", word});
  const auto* const known =
      std::ranges::find(kCalled, name, [](const auto& each) { return each[0]; });
  if (known == kCalled.end()) return std::nullopt;
  return expression_of((*known)[1], (*known)[2]);
}

/// add.cc, addc, addc.cc and their kin for differences and products.
std::optional<Instruction> carry(Words words) {
  std::string base;
  bool sets = false;
  for (const std::string_view word : words)
    if (word == "cc")
      sets = true;
    else
      base += joined({base.empty() ? "" : ".", word});
  const std::string_view type = words.back();
  const bool is_long = type.ends_with("64");
  if (words.size() < 2 || type.size() != 3 || (type[0] != 'u' && type[0] != 's'))
    return std::nullopt;
  base.resize(base.size() - type.size() - 1);
  const bool takes = base == "addc" || base == "subc" || base.starts_with("madc.");
  if (!sets && !takes) return std::nullopt;
  const std::string_view product = base.ends_with(".lo")    ? "a * b"
                                   : !base.ends_with(".hi") ? ""
                                   : is_long                ? "::__umul64hi(a, b)"
                                                            : "::__umulhi(a, b)";
  const std::string carry = joined({takes ? PTX "carry" : "0U", sets ? ", true)" : ", false)"});
  const bool is_product =
      base == "mad.lo" || base == "mad.hi" || base == "madc.lo" || base == "madc.hi";
  if (is_product && type[0] == 'u')
    return expression_of(is_long ? "UUUU" : "uuuu",
                         joined({PTX "sum_with_carry(", product, ", c, ", carry}));
  if (base == "add" || base == "addc" || base == "sub" || base == "subc")
    return expression_of(is_long ? "UUU" : "uuu",
                         joined({base.starts_with("add") ? PTX "sum_with_carry(a, b, "
                                                         : PTX "difference_with_borrow(a, b, ",
                                 carry}));
  return std::nullopt;
}

/// Operations in a rounding mode, which are never fused. Source: PTX ISA, "Floating-Point
/// Instructions", "cvt".
std::optional<Instruction> round(Words words) {
  static const std::map<std::string_view, std::string_view> modes = {
      {"rn", "_rn"}, {"rz", "_rz"}, {"rm", "_rd"}, {"rp", "_ru"}};
  static const std::map<std::string_view, std::pair<std::string_view, int>> operations = {
      {"add", {"add", 2}}, {"sub", {"sub", 2}}, {"mul", {"mul", 2}},  {"div", {"div", 2}},
      {"fma", {"fma", 3}}, {"rcp", {"rcp", 1}}, {"sqrt", {"sqrt", 1}}};
  if (words.size() < 3 || words.size() > 4) return std::nullopt;
  if (words.size() == 4 && words[0] != "cvt" && words[2] == "ftz") words.erase(words.begin() + 2);
  std::string_view mode = words[1];
  const std::string_view type = words.back();
  const bool is_double = type == "f64";
  if (!is_double && type != "f32") return std::nullopt;
  if (words[0] == "cvt" && words.size() == 4 && mode.size() == 3 && mode.ends_with('i')) {
    const auto known = modes.find(mode.substr(0, 2));
    if (known == modes.end()) return std::nullopt;
    static const std::map<std::string_view, std::pair<std::string_view, std::string_view>> wholes =
        {{"s32", {"2int", "i"}},
         {"u32", {"2uint", "u"}},
         {"s64", {"2ll", "I"}},
         {"u64", {"2ull", "U"}}};
    // To the whole number of the same type.
    static const std::map<std::string_view, std::string_view> functions = {
        {"rn", "::rint"}, {"rz", "::trunc"}, {"rm", "::floor"}, {"rp", "::ceil"}};
    if (words[2] == type)
      return expression_of(is_double ? "dd" : "ff",
                           joined({functions.at(mode.substr(0, 2)), is_double ? "(a)" : "f(a)"}));
    const auto whole = wholes.find(words[2]);
    if (whole == wholes.end()) return std::nullopt;
    return expression_of(joined({whole->second.second, is_double ? "d" : "f"}),
                         joined({is_double ? "::__double" : "::__float", whole->second.first,
                                 known->second, "(a)"}));
  }
  const auto known = modes.find(mode);
  const auto operation = operations.find(words[0]);
  if (words.size() != 3 || known == modes.end() || operation == operations.end())
    return std::nullopt;
  const auto [name, count] = operation->second;
  // CUDA C++ calls it __fma, but __fmaf.
  const std::string_view prefix = name == "fma" ? "::__" : is_double ? "::__d" : "::__f";
  const std::string_view suffix = name == "fma" && !is_double ? "f" : "";
  const std::string_view operands = std::string_view("a, b, c").substr(0, 3 * count - 2);
  return expression_of(std::string(count + 1, is_double ? 'd' : 'f'),
                       joined({prefix, name, suffix, known->second, "(", operands, ")"}));
}

/// Conversions that C++ rounds as PTX does: between whole numbers, and to floating point.
/// Source: PTX ISA, "cvt".
std::optional<Instruction> convert(Words words) {
  if (!take(words, "cvt")) return std::nullopt;
  while (take(words, "rn") || take(words, "ftz")) continue;
  if (words.size() != 2 || (words[1].starts_with('f') && !words[0].starts_with('f')))
    return std::nullopt;
  const Type* const to = find_type(words[0]);
  const Type* const from = find_type(words[1]);
  if (to == nullptr || from == nullptr) return std::nullopt;
  return Instruction{
      joined({"compute([](", from->text, " a) { return static_cast<", to->text, ">(a); })"}),
      {write(1, to->bytes), read(1, from->bytes)}};
}

/// What is an operation of C++.
std::optional<Instruction> compute(Words words) {
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

std::optional<Instruction> find_arithmetic(const Words& words) {
  for (const auto find : {call_function, carry, round, convert, compute})
    if (auto instruction = find(words)) return instruction;
  return std::nullopt;
}

}  // namespace convlab::ptx
