#!/usr/bin/env python3
"""Counts the requests of the reference stages on the emulated device (docs/profile.md).

    reference/results/count.py [BUILD_FOLDER]     # the stages that the file has; left out are those
        # that call a library, and fp32-split, which is direct-fp32 on the emulated device
    reference/results/count.py --draw     # only the table and the picture, of what was counted

Writes reference/results/counters/fa23.json, the table of docs/profile.md and its picture. Needs no
GPU, and two minutes on two cores.
"""
import json
import math
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
grader = root / (sys.argv[1] if len(sys.argv) > 1 else "build") / "bin/grader"


def output_of(*words):
    read = json.loads(subprocess.run([grader, *words], check=True, stdout=subprocess.PIPE).stdout)
    return {key: value for key, value in read.items() if key != "kernels"}


def cell(counter, value):
    if value is None:
        return "–"
    return f"{100 * value:.0f} %" if counter in ("active-lanes", "tensor-share") else f"{value:.3g}"


def count():
    stages = [("m4", stage["stage"]) for stage in json.loads(file.read_text())]
    stages[:2] = [("m2", "baseline"), ("m3", "tiled-shared")]
    return [{key: value for key, value in output_of(
                 "profile", milestone, "--stage", stage, "--solution", "reference", "--json").items()
             if key in ("stage", "shape") or "-" in key} for milestone, stage in stages]


def picture(counted):
    """Two columns of dots on log scales, a row for each stage."""
    columns = [("loads-per-product", "loads for each multiply-add"),
               ("bytes-over-least", "global bytes moved, times the least")]
    left, wide, high = 205, 300, 19
    height = 52 + high * len(counted) + 34
    parts = []
    for place, (counter, title) in enumerate(columns):
        begin = left + place * (wide + 60)
        values = [stage[counter] for stage in counted]
        low, most = (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
        x_of = lambda value: begin + wide * (math.log10(value) - low) / (most - low)
        parts.append(f'<text x="{begin}" y="30" font-weight="bold">{title}</text>')
        for power in range(low, most + 1):
            x = x_of(10.0 ** power)
            parts.append(f'<path d="M{x:.1f} 42V{height - 30}" stroke="#ccc"/>'
                         f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle">{10.0 ** power:g}</text>')
        for row, stage in enumerate(counted):
            x, y = x_of(stage[counter]), 56 + high * row
            parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="#0072b2"/><text x="{x + 8:.1f}" '
                         f'y="{y + 4}" fill="#555" font-size="11">{stage[counter]:.3g}</text>')
    parts += [f'<text x="{left - 12}" y="{60 + high * row}" text-anchor="end">{stage["stage"]}</text>'
              for row, stage in enumerate(counted)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + 2 * wide + 110} {height}" '
            'font-family="DejaVu Sans, sans-serif" font-size="12">\n'
            '<title>Counters of the reference stages</title>\n<desc>For each stage the loads for each '
            'multiply-add and the global bytes moved as times the least; the table has the numbers.</desc>\n'
            '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


file = root / "reference/results/counters/fa23.json"
counted = json.loads(file.read_text()) if "--draw" in sys.argv else count()
file.write_text(json.dumps(counted, indent=1) + "\n")
(root / "docs/images/counters-fa23.svg").write_text(picture(counted))

counters = [key for key in counted[0] if key not in ("stage", "shape")]
rows = ["| stage | " + " | ".join(f"`{counter}`" for counter in counters) + " |",
        "|---" + "|---:" * len(counters) + "|"]
for stage in counted:
    cells = [cell(counter, stage[counter]) for counter in counters]
    rows.append(f"| `{stage['stage']}` | " + " | ".join(cells) + " |")
page = root / "docs/profile.md"
mark = "<!-- counters -->\n"
head = page.read_text().split(mark)[0]
page.write_text(head + mark + "\n".join(rows) + "\n")
