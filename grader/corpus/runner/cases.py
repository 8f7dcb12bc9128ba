#!/usr/bin/env python3
"""Files of a corpus: one case, or several that share lines.

    cases.py CORPUS FOLDER        writes every case into the folder, as the grader gets it
"""
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass
class Case:
    """One file for the grader, as a file of a corpus describes it."""
    name: str  # the word behind "// Case", or the name of the file without its suffix
    text: str  # what the grader gets
    header: str

    def field(self, key):
        """The value of a line "// KEY value" of its header; empty if there is none."""
        found = re.search(rf"^// {key} +(.*)$", self.header, re.M)
        return found[1] if found else ""


def _split(lines):
    """The comment that begins these lines, and the rest."""
    end = next((i for i, line in enumerate(lines) if not line.lstrip(" ").startswith("//")),
               len(lines))
    return "".join(line.lstrip(" ") for line in lines[:end]), lines[end:]


def _with_parts(lines, folder, used=None):
    used = set() if used is None else used
    whole = ""
    for line in lines:
        part = re.match('#include "((?:parts|grader/corpus)/.*)"', line)
        if part and part[1] not in used:
            used.add(part[1])
            base = folder if part[1].startswith("parts") else ROOT
            whole += _with_parts(_lines_of(base / part[1]), folder, used)
        elif not part and line != "#pragma once\n":
            whole += line
    return whole


def _lines_of(file):
    return (file.read_text().rstrip("\n") + "\n").splitlines(keepends=True)


def read_cases(file):
    """A line `// Case NAME` begins a case. It ends at the next one or at `// End of cases`; what stands
    before the first and behind the end belongs to every case. The header is the comment that begins a
    case, then the one that begins the file: a case leaves out what holds for all. Its lines
    `#include <…>` move to the top, so that a case may lie inside a function.

    The grader gets a file without its neighbours, so the first line `#include "parts/…"` or `#include
    "grader/corpus/…"` is replaced by that file.
    """
    before, behind, own = [], [], []
    part = before
    for line in _lines_of(file):
        words = line.strip()
        if words.startswith("// Case "):
            part = []
            own.append(part)
        if words == "// End of cases":
            part = behind
        else:
            part.append(line)
    common = _split(before)[0]
    if not own:
        return [Case(file.stem, _with_parts(before, file.parent), common)]
    cases = []
    for lines in own:
        header, rest = _split(lines)
        includes = [line for line in rest if line.startswith("#include <")]
        rest = [line for line in rest if not line.startswith("#include <")]
        case = Case("", _with_parts(includes + before + rest + behind, file.parent), header + common)
        case.name = case.field("Case")
        if case.name in [other.name for other in cases]:
            raise ValueError(f"{file}: two cases have the name {case.name}")
        cases.append(case)
    return cases


if __name__ == "__main__":
    for source in pathlib.Path(sys.argv[1]).rglob("*.c*"):
        for each in read_cases(source) if source.suffix != ".cuh" else []:
            (pathlib.Path(sys.argv[2]) / (each.name + source.suffix)).write_text(each.text)
