"""What the readers of the corpus refuse and write; how they read, the corpora show."""
import json
import pathlib
import tempfile
import unittest

from cases import read_cases
from mistakes import Mistake, quotes_changed_line, update_page


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
    def test_two_cases_of_one_name_are_refused(self):
        with self.assertRaisesRegex(ValueError, "the name one"):
            read_cases(self.write("twice.cu", "// Case      one\n// Case      one\n"))


class Mistakes(InFolder):
    def read(self, lines, change="- a\n+ b\n"):
        return Mistake(self.write("m1/one.mistake", "// What  W.\n" + lines + change), self.folder)

    def test_whether_a_text_quotes_a_line_of_the_change(self):
        original, made = "a\nb\nc\nd\n", "a\nb\nx\nd\n"
        self.assertTrue(quotes_changed_line("f.cu:3 | x", original, made))
        self.assertTrue(quotes_changed_line("f.cu:2 | b", original, made))  # a statement's first line
        self.assertFalse(quotes_changed_line("f.cu:4 | d", original, made))
        self.assertFalse(quotes_changed_line("3", original, made))
        self.assertTrue(quotes_changed_line("f.cpp:2:7: error", original, "a\nc\nd\n"))

    def test_no_recorded_cause_speaks_of_what_its_change_does_not_reach(self):
        corpus = pathlib.Path(__file__).parents[1]
        checked = 0
        for line in (corpus / "evidence/mistakes.jsonl").read_text().splitlines():
            case = json.loads(line)
            mistake = Mistake(corpus / "mistakes" / (case["case"] + ".mistake"),
                              corpus.parents[1] / "reference/solutions/typical")
            causes = [record["finding"].get("cause", "") for each in case["evidence"]
                      for record in each["records"] if "finding" in record]
            for cause in causes:
                checked += 1
                self.assertEqual(mistake.false_claims(cause), set(), case["case"])
        self.assertGreater(checked, 0)
        averaged = Mistake(corpus / "mistakes/m1/averaged.mistake", mistake.solution.parent)
        self.assertEqual(averaged.false_claims("In the index of the weights: p is missing."), {"p"})

    def test_a_section_of_the_page_ends_with_its_first_mistake(self):
        page = self.write("page.md", "# P\n\n## E-x\n\nText.\n\n## E-y\n\nMore.\n")
        printed = "NOT PASSED\n  E-x  wrong\n    next   Look.\n    more   page.md\n"
        for _ in range(2):  # again it changes nothing
            update_page(page, [(self.read("// Finding  E-x\n"), printed)], "")
            self.assertEqual(page.read_text(), "# P\n\n## E-x\n\nText.\n\n<!-- example: m1/one -->\n\n"
                             "Example: W.\n\n```diff\n- a\n+ b\n```\n\n```text\n  E-x  wrong\n"
                             "    next   Look.\n```\n\n<!-- end of example -->\n\n## E-y\n\nMore.\n")
        # Now the grader says something else of it.
        update_page(page, [(self.read("// Finding  E-y\n"), printed.replace("E-x", "E-y"))], "")
        self.assertEqual(page.read_text().count("<!-- example: m1/one -->"), 1)
        self.assertGreater(page.read_text().index("<!-- example"), page.read_text().index("## E-y"))


if __name__ == "__main__":
    unittest.main()
