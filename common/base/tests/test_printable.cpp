#include "common/base/printable.hpp"
#include "common/base/tests/support/catch.hpp"

using convlab::printable;
using convlab::printable_line;
using namespace convlab;

TEST_CASE("printable: leaves text as it is, but for what a terminal would obey") {
  for (const char* text : {"", "Größe ±2 µs ½~!", "畳み込み", "😀", "a\tb\nc"}) {
    CHECK(printable(text) == text);
  }
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

TEST_CASE("printable: a line stays one; a title cannot wrap, and looks like what it is") {
  CHECK(printable_line("one\n  PASSED\tall") == "one   PASSED all");
  CHECK(short_line("Tiled" + std::string(70, ' ') + "PASSED", 40) == "Tiled PASSED");
  CHECK(short_line("a\u3000\u2003\u00a0\u2800 \n\tb", 40) == "a b");
  CHECK(short_line("12345678", 8) == "12345678");
  CHECK(short_line("123456789", 8) == "1234567…");
  CHECK(short_line("四四四四四", 8) == "四四四…");  // two columns each
  CHECK(short_line("e" + std::string(300, '\x01'), 8) == "e������…");
}

TEST_CASE("printable: columns of a terminal") {
  CHECK(display_width("4×4") == 3);
  CHECK(display_width("テスト") == 6);
  CHECK(display_width("e\u0301") == 1);
  CHECK(cut_to_columns("aテスト", 3) == std::vector<std::string>{"aテ", "ス", "ト"});
  CHECK(cut_to_columns("", 3) == std::vector<std::string>{""});
}

TEST_CASE("printable: ids") {
  for (const char* id : {"baseline", "fa17-high", "m4", "0"}) CHECK(is_id(id));
  for (const char* text : {"", "A", "a b", "a_b", "ä", "a/b", "../x", "a\n", "end_of_data"}) {
    INFO(text);
    CHECK_FALSE(is_id(text));
  }
  CHECK(is_id(std::string(40, 'a')));
  CHECK_FALSE(is_id(std::string(41, 'a')));
}
