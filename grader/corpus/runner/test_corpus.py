"""The readers of the corpus."""
import pathlib
import tempfile
import unittest

from cases import read_cases
from mistakes import Mistake, quotes_changed_line, shares_table, update_page

ROOT = pathlib.Path(__file__).resolve().parents[3]


class InFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


class Cases(InFolder):
    def test_a_file_without_cases_is_one_with_its_parts(self):
        self.write("parts/loop.cuh", "for (;;) {\n#include \"parts/end.cuh\"\n")
        self.write("parts/end.cuh", "}\n")
        header = "// What      Never ends.\n// Runs      emulated gpu\n"
        rest = "int end;\n// Says  not in the header\n"
        case, = read_cases(self.write("x.cu", header + '#include "parts/loop.cuh"\n' + rest))
        self.assertEqual((case.name, case.text), ("x", header + "for (;;) {\n}\n" + rest))
        self.assertEqual([case.field(key) for key in ("What", "Runs", "Says")],
                         ["Never ends.", "emulated gpu", ""])

    def test_cases_share_what_stands_before_the_first_and_behind_the_end(self):
        one, infinite = read_cases(self.write(
            "sums.cpp", "// Fools     Me.\n// Runs      cpu\n\nfloat sum() {\n"
            "  // Case      one\n  // What      Adds nothing.\n  return 1;\n"
            "  // Case      infinite\n  // Runs      emulated\n#include <cmath>\n  return HUGE_VALF;\n"
            "  // End of cases\n}\n"))
        self.assertEqual([one.field(key) for key in ("Case", "What", "Fools", "Runs")],
                         ["one", "Adds nothing.", "Me.", "cpu"])
        self.assertEqual((infinite.name, infinite.field("Runs")), ("infinite", "emulated"))
        self.assertEqual(infinite.text, "#include <cmath>\n// Fools     Me.\n// Runs      cpu\n\n"
                         "float sum() {\n  return HUGE_VALF;\n}\n")

    def test_two_cases_of_one_name_are_refused(self):
        with self.assertRaisesRegex(ValueError, "the name one"):
            read_cases(self.write("twice.cu", "// Case      one\n// Case      one\n"))


class Mistakes(InFolder):
    def read(self, lines, change="- a\n+ b\n"):
        return Mistake(self.write("m1/one.mistake", "// What  W.\n" + lines + change), self.folder)

    def test_its_lines_decide_its_share(self):
        finding = "// Finding  E-x\n"
        for share, lines in [(2, finding), (1, finding + "// Cause  c\n"),
                             (1, finding + "// Place  the line\n"),
                             (0, finding + "// Cause  c\n// Place  p; q\n"),
                             (3, finding + "// Cause  c\n// Place  p\n// Misleads  m\n"),
                             (4, "// Finding  passes\n")]:
            self.assertEqual(self.read(lines).share, share, lines)
        named = self.read(finding + "// Cause  c\n// Place  p; the line\n")
        self.assertEqual((named.says, named.quotes_line), (["c", "p"], True))

    def test_a_change_finds_its_lines_whatever_their_indentation(self):
        self.write("m1.cpp", "a {\n  b;\n  c;\n  b;\n}\n")
        change = "  c;\n- b;\n+ if (d) {\n+   e;\n+ }\n"
        self.assertEqual(self.read("// Finding  E-x\n", change).made(),
                         "a {\n  b;\n  c;\n  if (d) {\n    e;\n  }\n}\n")
        with self.assertRaisesRegex(ValueError, "m1/one: m1.cpp has no line 'x'"):
            self.read("// Finding  E-x\n", "- x\n+ y\n").made()

    def test_whether_a_text_quotes_a_line_of_the_change(self):
        original, made = "a\nb\nc\nd\n", "a\nb\nx\nd\n"
        self.assertTrue(quotes_changed_line("f.cu:3 | x", original, made))
        self.assertTrue(quotes_changed_line("f.cu:2 | b", original, made))  # a statement's first line
        self.assertFalse(quotes_changed_line("f.cu:4 | d", original, made))
        self.assertFalse(quotes_changed_line("3", original, made))
        self.assertTrue(quotes_changed_line("f.cpp:2:7: error", original, "a\nc\nd\n"))

    def test_a_section_of_the_page_ends_with_its_first_mistake(self):
        page = self.write("page.md", "# P\n\n## E-x\n\nText.\n\n## E-y\n\nMore.\n")
        printed = "NOT PASSED\n  E-x  wrong\n    next   Look.\n    more   page.md\n"
        for _ in range(2):  # again it changes nothing
            update_page(page, [(self.read("// Finding  E-x\n"), printed)], "")
            self.assertEqual(page.read_text(), "# P\n\n## E-x\n\nText.\n\n<!-- example: m1/one -->\n\n"
                             "Example: W.\n\n```diff\n- a\n+ b\n```\n\n```text\n  E-x  wrong\n"
                             "    next   Look.\n```\n\n<!-- end of example -->\n\n## E-y\n\nMore.\n")

    def test_the_page_has_the_table_of_the_corpus(self):
        table = shares_table([Mistake(file, ROOT / "reference/solutions/typical")
                              for file in (ROOT / "grader/corpus/mistakes").rglob("*.mistake")])
        self.assertIn(table, (ROOT / "docs/diagnoses.md").read_text())


if __name__ == "__main__":
    unittest.main()
