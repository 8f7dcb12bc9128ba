#!/usr/bin/env python3
"""Checks the numbers in the sentences of the chapters and of the stages' pages.

What follows from other numbers is computed again, and times are those of the reference's results.
Tables are generated (update_tables.py).
"""
import json
import math
import pathlib
import re
import sys

from update_tables import MARKER, median, op_times

root = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"G": 1e9, "GB": 1e9, "M": 1e6, "million": 1e6, "KB": 1e3, "%": 0.01}
NUMBER = r"\d+(?:\.\d+)?"
# Times of variants that no result file holds; the sentence says what was measured.
VARIANTS = ["25.5 fft.md", "16.5 fft.md", "0.0013 streams.md", "2.21 sweep-tuned.md",
            "2.94 tensor-cores-tf32.md", "99 README.md", "119 README.md"]


def plain(page):
    """The page in ASCII without generated tables, each paragraph in one line, "10 000" as "10000"."""
    text = re.sub("[*`]", "", MARKER.sub("", page.read_text()))
    for sign, ascii_sign in zip("·×−\n", "**- "):
        text = text.replace(sign, ascii_sign)
    text = text.replace("²", "^2").replace("³", "^3")
    return re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", text)


def half_digit(number):
    return 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-9)


def equations(text):
    """What stands before an equals sign, its value, and the number and the unit behind it."""
    for match in re.finditer(rf"([\d. ()*/+^-]+)= (-?{NUMBER}) ?([A-Za-z%]*)", text):
        left = match[1].strip(" ").lstrip(" .")
        while left.count("(") > left.count(")") and left[0] == "(":
            left = left[1:]
        if not re.match("[^+*/^-].*[+*/^-]", left):
            continue
        try:
            value = eval(left.replace("^", "**"), {})  # only digits and signs
        except (SyntaxError, TypeError):
            continue
        yield left, value / UNITS.get(match[3], 1.0), match[2]


def known_times():
    for name in ("nvidia-h200.m1", "nvidia-h200.m2", "nvidia-h200.m3", "nvidia-h200.m4",
                 "nvidia-h100/m2", "nvidia-h100/m4"):
        result = json.loads((root / f"reference/results/{name}.json").read_text())
        for run in result["runs"]:
            yield from [*op_times(run), sum(op_times(run))]
            yield from [median(layer["layer_ms"]) for layer in run["layers"]]
        for line in result["references"]:
            yield from [*line["op_ms"], sum(line["op_ms"])]


def times(text):
    """Each number of "1.2, 3 and 4 ms", with its unit in milliseconds; results of equations are none."""
    for match in re.finditer(rf"(?<!= )\b({NUMBER}(?:(?:,| and| against| \+| to) {NUMBER})*) (ms|s)\b", text):
        for number in re.findall(NUMBER, match[1]):
            yield number, 1000.0 if match[2] == "s" else 1.0


def main():
    pages = [root / "docs/performance.md", *sorted((root / "docs/ladder").glob("*.md")),
             *sorted((root / "milestones").glob("*/README.md"))]
    known = list(known_times())
    sums = timed = 0
    wrong = []
    for page in pages:
        text = plain(page)
        for left, value, number in equations(text):
            sums += 1
            if not math.fabs(value - float(number)) <= half_digit(number):
                wrong.append(f"{page}: {left} = {number}")
        if page.name == "performance.md":
            continue  # its tables say how each was measured
        for number, unit in times(text):
            timed += 1
            near = any(math.fabs(time - float(number) * unit) <= half_digit(number) * unit
                       for time in known)
            if not near and f"{number} {page.name}" not in VARIANTS:
                wrong.append(f"{page}: {number} is no time of the reference's results")
    if sums < 25 or timed < 50:
        wrong.append(f"Only {sums} sums and {timed} times were found.")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
