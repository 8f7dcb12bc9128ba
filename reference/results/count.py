#!/usr/bin/env python3
"""Counts the requests of the reference stages on the emulated device (docs/profile.md).

    reference/results/count.py [BUILD_FOLDER]

Writes reference/results/counters/fa23.json and the table of docs/profile.md. Needs no GPU, and two
minutes on two cores.
"""
import json
import pathlib
import subprocess
import sys

# They call a library. On the emulated device, fp32-split runs the kernels of direct-fp32.
LEFT_OUT = {"cublas", "cudnn", "fft", "fp32-split"}

root = pathlib.Path(__file__).resolve().parents[2]
grader = root / (sys.argv[1] if len(sys.argv) > 1 else "build") / "bin/grader"


def output_of(*words):
    read = json.loads(subprocess.run([grader, *words], check=True, stdout=subprocess.PIPE).stdout)
    return {key: value for key, value in read.items() if key != "kernels"} if isinstance(read, dict) else read


def cell(counter, value):
    if value is None:
        return "–"
    return f"{100 * value:.0f} %" if counter in ("active-lanes", "tensor-share") else f"{value:.3g}"


stages = [("m2", "baseline"), ("m3", "tiled-shared")]
for milestone in output_of("list", "--reference", "--json"):
    if milestone["milestone"] == "m4":
        stages += [("m4", stage["stage"]) for stage in milestone["stages"]
                   if stage["stage"] not in LEFT_OUT]

counted = [{key: value for key, value in output_of(
                "profile", milestone, "--stage", stage, "--solution", "reference", "--json").items()
            if key in ("stage", "shape") or "-" in key} for milestone, stage in stages]
file = root / "reference/results/counters/fa23.json"
file.write_text(json.dumps(counted, indent=1) + "\n")

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
