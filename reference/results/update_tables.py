#!/usr/bin/env python3
"""Makes the tables of Markdown pages anew from result files.

    reference/results/update_tables.py README.md docs/*.md
    reference/results/update_tables.py --check README.md docs/*.md    # exit 1 if one is not up to date

A table stands between two lines, of which the first names result files, relative to the page:

    <!-- results: ../reference/results/m1.json -->
    <!-- end of results -->

`results` shows the sum of the convolutions by stage and batch and, with `stages: ID ID` behind the
files, both convolutions and the layer time of these stages; `layers` shows each convolution by
itself, `limits` what part of each stage's time the limit is, for files of several GPUs.

All times are medians in milliseconds. Sums are of medians, as in the grader and the plots: the
layers are timed one after the other. Emulated runs have no op time and are left out. If a stage was
measured twice at one batch, the later run counts.
"""
import json
import pathlib
import re
import statistics
import sys
import textwrap

MARKER = re.compile(r"(<!-- (results|layers|limits): (.*?) -->)(.*?)(<!-- end of results -->)", re.S)


def three_digits(value):
    """0.00123, 1.23, 123, 12345: as common/timing/three_digits.hpp."""
    if value == 0:
        return "0"
    return "%.*f" % (min(max(2 - int(("%.2e" % value).split("e")[1]), 0), 6), value)


def grouped(number):
    return f"{number:,}".replace(",", " ")


def median(samples):
    return statistics.median(samples) if samples else 0.0


def op_times(run):
    return [median(layer["op_ms"]) for layer in run["layers"]]


def measured_runs(result):
    runs = [run for run in result["runs"] if run["device"] != "emulated" and run["layers"]]
    networks = {run["network"] for run in runs}
    if len(networks) != 1:
        sys.exit(f"A table shows the measured runs of one network; this result has {len(networks)}.")
    return runs


def table(heading, rows, sentence, left_columns=1):
    numbers = heading.count("|") - 1 - left_columns
    lines = [heading, "|---" * left_columns + "|--:" * numbers + "|"]
    lines += ["".join(f"| {cell} " if cell else "| " for cell in row) + "|" for row in rows]
    return "\n".join(lines) + "\n\n" + textwrap.fill(sentence, 80, break_long_words=False,
                                                     break_on_hyphens=False) + "\n"


def caption(result, what, runs):
    machine = result["machine"]
    counts = sorted({len(layer["op_ms"]) for run in runs for layer in run["layers"]})
    samples = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    return (f"{what}, median of {samples} sample{'' if counts[-1] == 1 else 's'}. {machine['cpu']}, "
            f"{machine['cores']} thread{'' if machine['cores'] == 1 else 's'}, "
            + (machine["gpu"] + ", " if machine.get("gpu") else "")
            + f"{machine['compiler']}, commit {machine['commit']}, {result['created'][:10]}.")


def result_table(result):
    runs = measured_runs(result)
    batches = sorted({run["batch"] for run in runs})
    rows = {}
    for run in sorted(runs, key=lambda run: (run["stage"]["order"], run["stage"]["id"])):
        rows.setdefault(run["stage"]["title"], {})[run["batch"]] = sum(op_times(run))
    for line in sorted(result["references"], key=lambda line: line["label"]):
        if line["kind"] == "library" and line["batch"] in batches:
            rows.setdefault(f"*{line['label']}*", {})[line["batch"]] = sum(line["op_ms"])
    first = next(iter(rows.values())).get(batches[-1])
    cells = [[title] + [three_digits(sums[batch]) if batch in sums else "" for batch in batches]
             + [three_digits(first / sums[batches[-1]]) if first and batches[-1] in sums else ""]
             for title, sums in rows.items()]
    heading = "| stage |" + "".join(f" {grouped(batch)} images |" for batch in batches)
    return table(heading + " times faster |", cells, caption(
        result, "Op time in milliseconds, all convolutions of the network "
        f"`{runs[0]['network']}` together", runs))


def layer_table(result):
    runs = {(run["stage"]["order"], run["stage"]["id"], run["batch"]): run
            for run in measured_runs(result)}
    rows = [[f"`{run['stage']['id']}`", grouped(run["batch"])]
            + [three_digits(median(layer[times])) for times in ("op_ms", "layer_ms")
               for layer in run["layers"]] for _, run in sorted(runs.items())]
    layers = range(1, max(len(run["layers"]) for run in runs.values()) + 1)
    heading = "| stage | images |" + "".join(
        f" {time} {i} |" for time in ("op time", "layer time") for i in layers)
    network = next(iter(runs.values()))["network"]
    what = f"Milliseconds for each convolution of the network `{network}`"
    return table(heading, rows, caption(result, what, runs.values()))


def stage_table(results, stages):
    measured, newest = {}, None
    for result in results:
        for run in result["runs"]:
            if (run["stage"]["id"] in stages and run["device"] != "emulated"
                    and len(run["layers"]) == 2):
                measured.setdefault(run["stage"]["id"], {})[run["batch"]] = run
                newest = result
    if not measured:
        return "Nothing was measured yet.\n"
    batches = sorted({batch for runs in measured.values() for batch in runs})
    rows = []
    for stage in filter(measured.get, stages):
        runs = measured[stage]
        row = [f"`{stage}`"] + [
            three_digits(sum(op_times(runs[batch]))) if batch in runs else "" for batch in batches]
        largest = runs.get(batches[-1], {"layers": []})
        layer_time = sum(median(layer["layer_ms"]) for layer in largest["layers"])
        row += [three_digits(time) for time in op_times(largest)] or ["", ""]
        rows.append(row + [three_digits(layer_time) if layer_time else ""])
    heading = "| stage |" + "".join(f" {grouped(batch)} images |" for batch in batches)
    machine = newest["machine"]
    return table(heading + " convolution 1 | convolution 2 | layer time |", rows,
                 "Milliseconds, medians; the convolutions and the layer time at "
                 f"{grouped(batches[-1])} images. {machine['gpu']}, commit {machine['commit']}, "
                 f"{newest['created'][:10]}.")


def limit_ms(result, run):
    """The least time of the convolutions: the larger of the bounds that count in its precision."""
    labels = ["memory bound"] + ["fp32 bound"] * (run["stage"]["precision"] == "fp32")
    lines = [line["op_ms"] for line in result["references"] if line["label"] in labels
             and (line["batch"], line["network"]) == (run["batch"], run["network"])]
    return sum(map(max, zip(*lines)))


def limits_table(results, stages):
    batch, gpus, rows, measured = 10000, [], {}, []
    for result in results:
        machine = result["machine"]
        if machine["gpu"] not in gpus:
            gpus.append(machine["gpu"])
            measured.append(f"{machine['gpu']}, commit {machine['commit']}, {result['created'][:10]}")
        for run in measured_runs(result):
            stage = run["stage"]
            if run["batch"] == batch and (not stages or stage["id"] in stages):
                time = sum(op_times(run))
                rows.setdefault((stage["order"], stage["id"]), {})[machine["gpu"]] = [
                    three_digits(time), str(int(100 * limit_ms(result, run) / time + 0.5))]
    cells = [[f"`{stage}`"] + [cell for gpu in gpus for cell in by_gpu.get(gpu, ["", ""])]
             for (_, stage), by_gpu in sorted(rows.items())]
    heading = "| stage |" + "".join(f" {gpu}, ms | % of the limit |" for gpu in gpus)
    return table(heading, cells,
                 f"The reference's op times at {grouped(batch)} images, both convolutions together. "
                 "The limit is the time that moving all data once takes, or in single precision all "
                 "multiply-adds at the peak, for each convolution the longer one. "
                 f"{'; '.join(measured)}.")


def with_tables(page):
    text = page.read_text()
    if len(MARKER.findall(text)) != len(re.findall("<!-- (?:results|layers|limits): ", text)):
        sys.exit(f"{page}: a table is without its line '<!-- end of results -->'.")

    def made(match):
        begin, kind, words, _, end = match.groups()
        files, _, stages = words.partition(" stages: ")
        results = [json.loads((page.parent / file).read_text()) for file in files.split()]
        if kind == "limits":
            made_table = limits_table(results, stages.split())
        elif stages:
            made_table = stage_table(results, stages.split())
        elif len(results) == 1:
            made_table = (result_table if kind == "results" else layer_table)(results[0])
        else:
            sys.exit(f"{page}: '{begin}' must name one file, or stages.")
        return f"{begin}\n\n{made_table}\n{end}"

    return text, MARKER.sub(made, text)


def main():
    check = "--check" in sys.argv
    pages = [pathlib.Path(word) for word in sys.argv[1:] if word != "--check"]
    if not pages or any(word.startswith("-") for word in map(str, pages)):
        sys.exit(__doc__)
    stale = 0
    for page in pages:
        before, after = with_tables(page)
        if before == after:
            continue
        stale += 1
        if check:
            print(f"{page} is not up to date: reference/results/update_tables.py {page}")
        else:
            page.write_text(after)
            print(f"{page}: tables made anew")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
