"""Typical mistakes: a few lines of a right solution, changed.

A file of the corpus is

    // What     Threads without an output read, too.
    // Finding  E-outside
    // Cause    Threads without an output need a guard
    // Place    the line; Thread (
    - if (h >= shape.out_height() || w >= shape.out_width()) return;
    + if (h > shape.out_height() || w > shape.out_width()) return;

Lines with '-' or ' ' are found one after the other in the solution, whatever their indentation. Those
with '-' go, and those with '+' come behind them. A line `// From im2col.cu` names another solution than that of the folder, m1.cpp,
m2.cu, …. `// Finding passes` stands for a mistake that nothing notices.

The finding must have the words of Cause, which state what is wrong, and of Place, which say where; "the
line" is met if it quotes a line of the change. Words that are false for this mistake stand behind
`// Misleads`, words that must be there for another reason behind `// Says`. What a finding says neither
of is left out: so the lines decide how much a student learns, its share.
"""
import collections
import pathlib
import re
import textwrap

# The cause and its place are named; one of them; neither; what is said is false; it passes.
SHARES = ["A: cause and place", "B: one of them", "C: neither", "D: something false", "E: passes"]

BEGIN_EXAMPLE, END_EXAMPLE = "<!-- example: ", "<!-- end of example -->\n"


class Mistake:
    def __init__(self, file, solutions):
        """@param solutions  the folder of the right solutions"""
        file = pathlib.Path(file)
        self.milestone = file.parent.name
        self.name = f"{self.milestone}/{file.stem}"
        fields = collections.defaultdict(str)
        self.change = ""
        for line in file.read_text().splitlines():
            if line.startswith("// "):
                key, _, value = line[3:].partition(" ")
                fields[key] = value.strip()
            elif line.startswith(("-", "+", " ")):
                self.change += line + "\n"
            else:
                raise ValueError(f"{file}: a line begins with none of '// ', '-', '+' and ' '")
        for needed in ("What", "Finding"):
            if not fields[needed]:
                raise ValueError(f"{file}: it has no line '// {needed}'")
        self.what = fields["What"]
        passes = fields["Finding"] == "passes"
        self.finding = "" if passes else fields["Finding"]
        parts = [part.strip() for key in ("Says", "Cause", "Place", "Misleads")
                 for part in fields[key].split(";") if part.strip()]
        self.quotes_line = "the line" in parts
        self.says = [part for part in parts if part != "the line"]
        told = bool(fields["Cause"]) + bool(fields["Place"])
        self.share = 4 if passes else 3 if fields["Misleads"] else 2 - told
        self.only_emulated = fields["Runs"] == "emulated"
        usual = self.milestone + (".cpp" if self.milestone == "m1" else ".cu")
        self.solution = solutions / (fields["From"] or usual)

    def made(self):
        """The solution with the mistake. @throws ValueError if a line with '-' is not in it"""
        lines = self.solution.read_text().splitlines()
        begin = 0  # changes follow one another in the solution
        for old, new in re.findall(r"((?:^[- ].*\n)*)((?:^\+.*\n)*)", self.change, re.M):
            old, new = old.splitlines(), new.splitlines()
            if not old and not new:
                continue
            words = [line[1:].strip() for line in old]
            places = [i for i in range(begin, len(lines) - len(old) + 1)
                      if [line.strip() for line in lines[i:i + len(old)]] == words]
            if not old or not places:
                raise ValueError(f"{self.name}: {self.solution.name} has no line "
                                 f"'{words[0] if old else ''}'")
            at = places[0]
            # The new lines are indented like the first of the old ones.
            deeper = _indent(lines[at]) - _indent(old[0][1:])
            kept = [line for line, change in zip(lines[at:], old) if change.startswith(" ")]
            kept += [" " * (deeper + _indent(line[1:])) + line[1:].strip() for line in new]
            lines[at:at + len(old)] = kept
            begin = at + len(kept)
        return "\n".join(lines) + "\n"

    def false_claims(self, cause):
        """The arrays and variables that a cause speaks of and that the change does not reach: neither
        its own lines name them, nor what is computed from those."""
        if " Or " in cause:  # then one of two is true
            return set()
        text = self.made()
        reached = _reached_by(_words(re.sub("^.", "", self.change, flags=re.M)), text)
        own = {name for name in "bmchwpq" if re.search(rf"\b{name}\s*[=;)]", text)} | ARRAYS
        claims = [_words("".join(groups)) for groups in CLAIMS.findall(cause)]
        claims = [{name} & own for claim in claims for name in claim]
        claims += [_words(factors) | {name} for name, factors in
                   re.findall(r"\b([bmchwpq]) is multiplied by ([^;.]*)", cause) if name in own]
        return {name for claim in claims if claim and not claim & reached for name in claim & own}


# What a cause says of an array or a variable that was measured.
ARRAYS = {"input", "weights", "output"}
CLAIMS = re.compile(
    r"index of the (\w+)|\b([bmchwpq]) is missing|copy of the (\w+)|(input|weights) (?:was|were) rounded|"
    r"(?:products|outputs) with ([bmchwpq][^.;]*?) (?:is|are|count)|depend on the (\w+)|reads the (\w+)")


def _words(text):
    return set(re.findall(r"[A-Za-z_]\w*", text)) - {"for", "if", "int", "float", "const", "return"}


def _reached_by(names, text):
    """With the variables that statements with one of the names assign, over and over, and the arrays and
    indices in these statements; a launch reaches the numbers of threads."""
    reached, beside = set(names), set()
    before = -1
    while len(reached) > before:
        before = len(reached)
        for statement in re.split("[;{}]", text):
            words = _words(statement)
            if not words & reached:
                continue
            if "<<<" in statement or "__global__" in statement:
                reached |= {"threadIdx", "blockIdx"}
            for name, index in re.findall(r"(\w+)\[([^\]]*)\]", statement):
                beside |= _words(index) if name in reached else set()
            assigned = re.match(r"[^=]*?(\w+)(?:\[[^=]*\])?\s*[-+*/]?=[^=]", statement)
            if assigned:
                reached.add(assigned[1])
                beside |= words & ARRAYS
    return reached | beside


def _indent(line):
    return len(line) - len(line.lstrip())


def quotes_changed_line(text, original, made):
    """Whether the text quotes, as "file:line", a line of `made` that `original` does not have there, or
    one beside lines that are missing."""
    before, after = original.splitlines(), made.splitlines()
    counts = collections.Counter(before)
    changed = set()
    for i, line in enumerate(after):
        counts[line] -= 1
        if counts[line] < 0:
            changed |= {i, i + 1}  # a statement may begin one line before
    if not changed:
        first = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b),
                     min(len(before), len(after)))
        changed = {first, first + 1}
    return any(int(number) in changed for number in re.findall(r"\.(?:cpp|cu):(\d+)", text))


def _per_cent(part, whole):
    return f"{(100 * part + whole // 2) // max(1, whole)} %"


def shares_table(mistakes):
    """How much the findings tell: a row for each milestone, a column for each share."""
    counts = collections.defaultdict(lambda: [0] * len(SHARES))
    for each in mistakes:
        counts[each.milestone][each.share] += 1
        counts["together"][each.share] += 1
    table = f"| | mistakes | {' | '.join(SHARES)} | A | A and B |\n" + "|---" * 9 + "|\n"
    for name, row in sorted(counts.items()):
        cells = [name, sum(row), *row, _per_cent(row[0], sum(row)),
                 _per_cent(row[0] + row[1], sum(row))]
        table += "| " + " | ".join(map(str, cells)) + " |\n"
    return table


def update_page(file, shown, table):
    """Renews docs/diagnoses.md: the section of each finding ends with the first mistake that gets it,
    with its change and what the grader says.

    @param shown  mistakes, each with what the grader printed
    @param table  of all shares; empty: the page keeps its own
    """
    page = file.read_text()
    if table:
        page = re.sub("(?<=<!-- shares -->\n).*?(?=<!-- end of shares -->)", lambda _: table, page,
                      flags=re.S)
    # What a mistake got before, it may no longer get.
    for mistake, _ in shown:
        page = re.sub(f"{BEGIN_EXAMPLE}{re.escape(mistake.name)} -->.*?{END_EXAMPLE}", "", page,
                      flags=re.S)
    done = set()
    for mistake, printed in sorted(shown, key=lambda each: each[0].name):
        section = re.search(rf"^## {mistake.finding}\n.*?(?=^##? |\Z)", page, re.M | re.S)
        if not section or mistake.finding in done:
            continue
        done.add(mistake.finding)
        body = re.sub(f"{BEGIN_EXAMPLE}.*?{END_EXAMPLE}", "", section[0], flags=re.S).rstrip("\n")
        finding = re.search(rf"  {mistake.finding}  .*?\n(?=    more )", printed, re.S)
        what = textwrap.fill(f"Example: {mistake.what}", 80, break_long_words=False,
                             break_on_hyphens=False)
        body += (f"\n\n{BEGIN_EXAMPLE}{mistake.name} -->\n\n{what}\n\n```diff\n{mistake.change}```\n\n"
                 f"```text\n{finding[0] if finding else ''}```\n\n{END_EXAMPLE}")
        page = page[:section.start()] + body + "\n" * page[section.end():].startswith("#") \
            + page[section.end():]
    file.write_text(page)
