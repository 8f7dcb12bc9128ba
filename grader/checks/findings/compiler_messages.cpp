#include "grader/checks/findings/compiler_messages.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

/// A part of a compiler's message, and what it means.
struct CompilerWords {
  const char* says;
  const char* cause;
  const char* next;
  const char* or_says = nullptr;  ///< as another compiler puts it
};

constexpr CompilerWords kWords[] = {
    {"for array subscript", "The arrays are flat: one pair of brackets with one index.",
     "Compute the index, as in the table of the chapter of m1: ((b·C + c)·H + row)·W + column.",
     "subscripted value is not"},
    {"ConvShape::)() const", "out_height and out_width are functions of the shape.",
     "Call them with parentheses: shape.out_height()."},
    {"non-static member function 'virtual", "Your kernel has the name of a function of its class.",
     "Give the kernel another name: prolog, convolve, epilog, prepare, release and launch are "
     "functions of the class."},
    {"too many arguments", "The call gives more values than the function takes.",
     "Compare the call with the list of parameters. A kernel with the name of a function of its "
     "class, such as convolve or launch, needs another name."},
    {"too few arguments", "The call gives fewer values than the function takes.",
     "Compare the call with the list of parameters."},
    {"non-static member function", "out_height and out_width are functions of the shape.",
     "Call them with parentheses: shape.out_height()."},
    {"cannot be used as a function", "A size of the shape is called like a function.",
     "Only out_height() and out_width() take parentheses; batch, height, kernel and the others are "
     "variables."},
    {"unterminated argument list", "A closing ) is missing where that macro is used.",
     "Count the parentheses in that line. cudaMalloc( … ) needs its own pair inside the macro's "
     "pair."},
    {"is no text",
     "It holds bytes that no source has, for example because an editor saved it as UTF-16.",
     "Save it again as UTF-8. If it is lost, build/bin/grader reset MILESTONE puts the exercise "
     "back."},
    {"is no file", "A link or a folder stands in the place of the file.",
     "Put the file there; build/bin/grader reset MILESTONE puts the exercise back."},
    {"conflict marker", "git could not join two versions of this place, and left both.",
     "Between <<<<<<< and >>>>>>> keep the lines that you want, and delete the markers."},
    {"at end of input", "An opening { has no closing }.",
     "Count the braces. An editor shows which { belongs to the } under the cursor.",
     "expected '}'"},
    {"was not declared in this scope",
     "The name is misspelt, or was declared inside a block that has ended. A variable of a for "
     "loop exists until the loop ends, and a ; right after for (…) ends the loop.",
     "Compare the spelling with the line that declares the name, then the braces between.",
     "undeclared identifier"},
    {"expected ';'", "A semicolon is missing, often at the end of the line before.",
     "End each statement with ; and check again."},
    {"assignment of read-only", "Input and weights are const: they can only be read.",
     "Store into output[…]."},
    {"has no member named", "The shape has no size of that name.",
     "The table of the chapter lists them: batch, out_channels, in_channels, height, width, "
     "kernel, "
     "stride."},
};

// The first line that uses the macro with more opening than closing brackets.
std::string unclosed(const std::string& macro, const SourceText& sources) {
  for (const auto& place : sources.lines_with({macro + "("})) {
    int open = 0;
    for (int next = place.line; next < place.line + 5; ++next) {
      const std::string line = sources.line(place.file, next);
      open += static_cast<int>(std::count(line.begin(), line.end(), '(') -
                               std::count(line.begin(), line.end(), ')'));
      if (line.ends_with(';')) break;
    }
    if (open > 0) return sources.quote(place.file, place.line);
  }
  return {};
}

}  // namespace

Finding compiler_finding(const std::string& error, const SourceText& sources) {
  Finding found = finding("E-build", error);
  const std::string invoking = "unterminated argument list invoking macro \"";
  const auto macro = error.find(invoking);
  const auto colon = error.find(':');
  if (macro != std::string::npos) {
    found.seen += unclosed(word_at(error, macro + invoking.size()), sources);
  } else if (colon != std::string::npos) {
    const std::string file = error.substr(0, colon);
    found.seen +=
        sources.quote(file.substr(file.rfind('/') + 1), line_number(digits_at(error, colon + 1)));
  }
  for (const CompilerWords& words : kWords) {
    const auto has = [&](const char* part) { return error.find(part) != std::string::npos; };
    if (!has(words.says) && (words.or_says == nullptr || !has(words.or_says))) continue;
    found.cause = words.cause;
    found.next = words.next;
    break;
  }
  return found;
}

}  // namespace convlab::grader
