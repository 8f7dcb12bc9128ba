#!/usr/bin/env python3
"""Compares the counters of `grader profile` with those of Nsight Compute (docs/profile.md).

    reference/results/calibration/calibrate.py GPU FOLDER [BUILD_FOLDER]

FOLDER is the output of on_gpu.sh on that GPU; `-` counts anew and keeps what GPU.json says was
measured. Writes GPU.json beside this file (for each kernel of the reference stages in both
convolutions of fa23, one image, and each small kernel, what was counted and what was measured) and
the tables of docs/profile.md, of all GPUs. Needs no GPU, and five minutes on two cores.
"""
import csv
import json
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parents[2]
gpu, folder = sys.argv[1], pathlib.Path(sys.argv[2])
earlier = json.loads((here / f"{gpu}.json").read_text()) if sys.argv[2] == "-" else None
grader = root / (sys.argv[3] if len(sys.argv) > 3 else "build") / "bin/grader"

# They call a library, run other kernels on Hopper than emulated, or were not measured yet.
LEFT_OUT = {"cublas", "cudnn", "fft", "roofline", "fp32-split", "small-batch"}

# Kernels that measure the GPU itself.
HARNESS = {"do_nothing", "multiply_add", "multiply_add_half", "read_all", "copy_tiles"}

GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SHARED = "l1tex__data_{}_pipe_lsu_mem_shared_op_{}.sum"
# Name, kind of request, what is counted, the metrics whose sum is measured.
COUNTERS = [
    ("global load requests", "global-load", "requests", [GLOBAL.format("requests", "ld")]),
    ("global load sectors", "global-load", "sectors", [GLOBAL.format("sectors", "ld")]),
    ("global store requests", "global-store", "requests", [GLOBAL.format("requests", "st")]),
    ("global store sectors", "global-store", "sectors", [GLOBAL.format("sectors", "st")]),
    ("global atomic requests", "global-atomic", "requests",
     [GLOBAL.format("requests", "red"), GLOBAL.format("requests", "atom")]),
    ("global atomic sectors", "global-atomic", "sectors",
     [GLOBAL.format("sectors", "red"), GLOBAL.format("sectors", "atom")]),
    ("shared load passes", "shared-load", "passes",
     ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]),
    ("shared load conflicts", "shared-load", "conflicts", [SHARED.format("bank_conflicts", "ld")]),
    ("shared store passes", "shared-store", "passes",
     ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]),
    ("shared store conflicts", "shared-store", "conflicts",
     [SHARED.format("bank_conflicts", "st")]),
    # Instructions that multiply and add; those that only multiply are counted here, too.
    ("multiply-adds of floats", "float", "multiply_adds",
     ["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]),
    ("multiply-adds of halves", "half", "multiply_adds",
     ["smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"]),
]


def profile(*words):
    done = subprocess.run([grader, "profile", *words, "--json"], stdout=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else None


def measured(stage):
    """The launches of a stage, in order: name, (grid, block), {metric: value}."""
    file = folder / "counters" / f"{stage}.csv"
    if not file.exists():
        return []
    with file.open() as lines:
        rows = list(csv.reader(line for line in lines if line.startswith('"')))
    heading = rows[0] if rows else []
    launches = []
    for row in rows[2:]:  # the second holds the units
        cells = dict(zip(heading, row))
        values = {name: float(text.replace(",", "")) for name, text in cells.items()
                  if name.endswith(".sum") and text}
        size = tuple(tuple(int(word) for word in cells[name].strip("()").split(","))
                     for name in ("Grid Size", "Block Size"))
        if cells["Kernel Name"] not in HARNESS:
            launches.append((cells["Kernel Name"], size, values))
    return launches


def counted_of(kernel, kind, part):
    if part != "multiply_adds":
        return (kernel["requests"] or {}).get(kind, {}).get(part, 0)
    made = kernel["multiply_adds"]
    # An instruction multiplies two halves or one.
    return made.get(kind, 0) + (made.get("half2", 0) // 2 if kind == "half" else 0)


def count_again(which, old, kernel):
    entry = dict(which)
    for counter, kind, part, _ in COUNTERS:
        counted = counted_of(kernel, kind, part)
        if part == "multiply_adds" and counter not in old:
            continue  # nobody measured it then
        at_gpu = old.get(counter, [0, 0])[1]
        if counted or at_gpu:
            entry[counter] = [counted, at_gpu]
    return entry


def compare(stage, profiles):
    """One entry for each kernel and layer."""
    launches = measured(stage)
    entries = []
    for layer, profile_of_layer in enumerate(profiles, 1):
        for kernel in profile_of_layer["kernels"]:
            name = kernel["kernel"]
            if earlier is not None:
                which = {"stage": stage, "layer": layer, "kernel": name}
                old = next((each for each in earlier if which.items() <= each.items()), None)
                if old is not None:
                    entries.append(count_again(which, old, kernel))
                continue
            size = tuple(kernel["grid"]), tuple(kernel["block"])
            # A kernel launched through a pointer has the pointer's name here, its own on a GPU.
            rows = [values for found, at, values in launches
                    if at == size and (found == name or not any(f == name for f, *_ in launches))]
            if len({json.dumps(row) for row in rows}) == 0:
                print(f"{stage} {layer} {name}: not measured")
                continue
            if kernel["launches"] > 1 and len(rows) < kernel["launches"]:
                print(f"{stage} {layer} {name}: other launches measured")
                continue
            entry = {"stage": stage, "layer": layer, "kernel": name}
            for counter, kind, part, metrics in COUNTERS:
                counted = counted_of(kernel, kind, part)
                at_gpu = sum(sum(row.get(metric, 0.0) for metric in metrics)
                             for row in rows[:kernel["launches"]])
                # `nvcc` also loads constants by multiply-adds of halves.
                if counted or at_gpu and kind != "half":
                    entry[counter] = [counted, round(at_gpu)]
            entries.append(entry)
    return entries


entries = []
stages = [("m2", "baseline"), ("m3", "tiled-shared"), ("m3", "constant-memory"),
          ("m3", "restrict-unroll"), ("m3", "tiled-constant")]
listed = json.loads((root / "reference/results/counters/fa23.json").read_text())
stages += [("m4", each["stage"]) for each in listed
           if each["stage"] not in LEFT_OUT | {stage for _, stage in stages}]
for milestone, stage in stages:
    layers = [profile(milestone, "--stage", stage, "--solution", "reference", "--layer", str(layer))
              for layer in (1, 2)]
    if None not in layers:
        entries += compare(stage, layers)
for stage in ("micro-global", "micro-shared", "micro-other"):
    micro = profile("m4", "--solution", str(here / "benchmarks" / "micro_kernels.cu"), "--stage", stage)
    entries += compare(stage, [micro])
(here / f"{gpu}.json").write_text(json.dumps(entries, indent=0).replace("[\n", "[").replace(
    ",\n", ", ").replace("\n]", "]").replace("}, {", "},\n{") + "\n")

def is_near(pair, share):
    return abs(pair[0] - pair[1]) <= share * pair[1]


GPUS = {"nvidia-h200": "H200", "nvidia-h100": "H100"}
measured_on = {gpu: json.loads((here / f"{file}.json").read_text()) for file, gpu in GPUS.items()
               if (here / f"{file}.json").exists()}
summary = ["| counter | GPU | kernels | within 1 % | within 10 % |", "|---|---|---:|---:|---:|"]
off = {}
known = {}  # by name in the table, kernel and counter: the GPUs that have measured it
for counter, *_ in COUNTERS:
    for gpu, all_entries in measured_on.items():
        pairs = [(entry[counter], entry) for entry in all_entries if counter in entry]
        if not pairs:
            continue
        near = [sum(is_near(pair, share) for pair, _ in pairs) for share in (0.01, 0.1)]
        summary.append(f"| {counter} | {gpu} | {len(pairs)} | {near[0]} | {near[1]} |")
        for pair, entry in pairs:
            is_small = entry["stage"].startswith("micro")
            name = f"`{entry['kernel']}`" if is_small else f"`{entry['stage']}`, {entry['layer']}"
            known.setdefault((name, entry["kernel"], counter), set()).add(gpu)
            if not is_near(pair, 0.1):
                what = (name, entry["kernel"], counter, pair[0])
                off.setdefault(what, {})[gpu] = pair[1]
details = ["| stage or small kernel, convolution | counter | counted | " + " | ".join(measured_on) + " |",
           "|---|---|---:|" + "---:|" * len(measured_on)]
for (which, kernel, counter, counted), values in off.items():
    cells = " | ".join(str(values.get(gpu, "near" if gpu in known[which, kernel, counter] else "-"))
                       for gpu in measured_on)
    details.append(f"| {which} | {counter} | {counted} | {cells} |")
page = root / "docs/profile.md"
text = page.read_text()
for mark, table in (("calibration", summary), ("off", details)):
    head, rest = text.split(f"<!-- {mark} -->\n")
    text = head + f"<!-- {mark} -->\n" + "\n".join(table) + "\n\n" + rest.split("\n\n", 1)[1]
page.write_text(text)
