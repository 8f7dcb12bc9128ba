#include "common/testing/catch.hpp"
#include "common/text/printable.hpp"

using convlab::printable;
using convlab::printable_line;

TEST_CASE("printable: leaves text in any language as it is") {
  for (const char* text : {"", "plain ASCII ~!", "Größe ±2 µs ½", "畳み込み", "😀", "a\tb\nc"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("printable: replaces what a terminal would obey") {
  CHECK(printable("\x1b[32mPASSED\x1b[0m") == "�[32mPASSED�[0m");
  CHECK(printable("100 %\rPASSED") == "100 %�PASSED");
  CHECK(printable("a\b\x07\x7f") == "a���");
  CHECK(printable("\xc2\x9b"
                  "2J") == "�2J");  // CSI in one character
  CHECK(printable(std::string_view("a\0b", 3)) == "a�b");
}

TEST_CASE("printable: replaces what changes the direction or hides") {
  CHECK(printable("a\u202E"
                  "DESSAP") == "a�DESSAP");
  CHECK(printable("\u2066x\u2069\u200F\u200B\uFEFF") == "�x����");
  CHECK(printable("one\u2028two") == "one�two");
  CHECK(printable("\U000E0041") == "�");
}

TEST_CASE("printable: each byte that is no UTF-8 is replaced, and nothing after it") {
  CHECK(printable("\xff"
                  "a") == "�a");
  CHECK(printable("\xc3") == "�");                 // cut off
  CHECK(printable("\xc0\xaf") == "��");            // too long a form of "/"
  CHECK(printable("\xed\xa0\x80") == "���");       // half a character of UTF-16
  CHECK(printable("\xf4\x90\x80\x80") == "����");  // after the last character
  CHECK(printable("\xe2\x82"
                  "b") == "��b");
}

TEST_CASE("printable: a line stays one") {
  CHECK(printable_line("one\n  PASSED\tall") == "one   PASSED all");
}
