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
#include <set>
#include <utility>

namespace convlab::ptx {
namespace {

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
  if (text.starts_with('-')) text.remove_prefix(1);
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
    if (!rest.empty() && rest.front() == '{' && rest.back() == '}')
      rest = rest.substr(1, rest.size() - 2);
    for (const std::string_view part : split(rest, ';'))
      if (!part.empty()) code += joined({" ", instruction(part), ";"});
    return code + " } while (false)";
  }

 private:
  static std::string name_of(std::size_t operand) {
    return joined({"convlab_", std::to_string(operand)});
  }

  static void check_constraint(const Operand& operand) {
    std::string_view letter = operand.constraint;
    while (!letter.empty() &&
           (letter.front() == '=' || letter.front() == '+' || letter.front() == '&'))
      letter.remove_prefix(1);
    if (letter != "r" && letter != "f" && letter != "l" && letter != "d" && letter != "n")
      throw Refusal{joined({"an operand with the constraint \"", operand.constraint, "\""})};
  }

  std::string instruction(std::string_view text) {
    const std::size_t end = text.find_first_of(" \t\n");
    const std::string_view name = text.substr(0, end);
    const std::string_view rest =
        end == std::string_view::npos ? std::string_view{} : trimmed(text.substr(end));
    if (name == ".reg") return declaration(rest);
    if (name.front() == '@') {
      const bool negated = name.starts_with("@!");
      return joined({"if (", variable(name.substr(negated ? 2 : 1)), negated ? " == 0" : " != 0",
                     ") { ", instruction(rest), "; }"});
    }
    const auto known = find_instruction(name);
    if (!known) throw Refusal{joined({"'", name, "'"})};

    std::vector<std::string_view> given;
    if (!rest.empty()) given = split(rest, ',');
    const std::size_t most = known->slots.size();
    if (given.size() > most ||
        given.size() + static_cast<std::size_t>(known->optional_slots) < most)
      throw Refusal{joined({"'", name, "' with ", std::to_string(given.size()), " operands"})};
    std::string arguments;
    for (std::size_t i = 0; i < given.size(); ++i)
      arguments += joined({i > 0 ? ", " : "", argument(given[i], known->slots[i])});
    return joined({kFunctions, known->function, "(", arguments, ")"});
  }

  /// .reg .u64 address
  std::string declaration(std::string_view rest) {
    const std::size_t space = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view type = rest.substr(0, space);
    const bool is_long = type.ends_with("64");
    if (!is_long && !type.ends_with("32") && type != ".pred")
      throw Refusal{joined({"'.reg ", rest, "'"})};
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
    return joined({"convlab_register_", name.substr(name.find_first_not_of('%'))});
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
                      number ? std::string(names[i]) : variable(names[i]),
                      number && slot.bytes == 8 ? "ULL)" : ")"});
    }
    return code + ")";
  }

  void check_written(std::string_view text) const {
    const auto operand = operand_of(text);
    if (operand &&
        statement_.operands[*operand].constraint.find_first_of("=+") == std::string::npos)
      throw Refusal{joined({"a result in ", text, ", which is an input"})};
  }

  /// [%1], [%1 + 16], [register]
  std::string address(std::string_view text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']')
      throw Refusal{joined({"the address '", text, "'"})};
    text = text.substr(1, text.size() - 2);
    const std::size_t plus = text.find('+');
    const std::string_view offset =
        plus == std::string_view::npos ? "0" : trimmed(text.substr(plus + 1));
    if (!is_number(offset)) throw Refusal{joined({"the offset '", offset, "'"})};
    return joined(
        {kFunctions, "address(", variable(trimmed(text.substr(0, plus))), ", ", offset, ")"});
  }

  [[nodiscard]] std::optional<std::size_t> operand_of(std::string_view text) const {
    if (text.size() < 2 || text[0] != '%' || !is_number(text.substr(1)) || text.size() > 4)
      return std::nullopt;
    const std::size_t operand = std::stoul(std::string(text.substr(1)));
    if (operand >= statement_.operands.size())
      throw Refusal{joined({text, ", for which there is no operand"})};
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
