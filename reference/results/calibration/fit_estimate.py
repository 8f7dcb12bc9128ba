#!/usr/bin/env python3
"""Fits the model of `grader profile` that estimates op times, and says how far it is off.

    reference/results/calibration/fit_estimate.py [--count BUILD_FOLDER] [--limits GPU FOLDER]

Fits on the op times of the H200 in reference/results, leaving out a family of stages at a time,
then half of the families; tests on the H100. Writes grader/measure/estimate.json and the tables of
docs/profile.md. --count renews work.json, what each stage asks for (no GPU, ten minutes on two
cores); --limits makes GPU.limits.json from the output of on_gpu.sh's step `limits`.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess

here = pathlib.Path(__file__).resolve().parent
root = here.parents[2]
results = root / "reference/results"

# Stages that share most of their code. Left out: those that call a library, whose code for tensor
# cores has a stand-in on the emulated device, or whose op time has copies in it (streams).
FAMILIES = ["baseline channel-reduction-tree channel-reduction-atomics", "tiled-shared",
            "constant-memory tiled-constant", "restrict-unroll",
            "im2col-gemm fused-gemm index-reuse", "register-tiled",
            "per-layer cuda-graph multi-gpu",
            "tensor-cores-fp16 tensor-cores-tf32 mma-ptx", "half half2",
            "thread-coarsening sweep-tuned", "shuffle-cache", "winograd",
            "persistent double-buffered", "direct-fp32"]
FAMILY = {stage: family for family in FAMILIES for stage in family.split()}
MILESTONE = {"baseline": "m2", "tiled-shared": "m3", "constant-memory": "m3",
             "tiled-constant": "m3", "restrict-unroll": "m3"}

# Not fitted: the published limits over those that convlab measures (the files of the H200).
MEASURED = {"memory": 1.15, "multiply": 1.04, "tensor": 1.6}
# Name, where the fit begins, least, most. The first three are instructions.
FITTED = [("global_request", 5.0, 0.0, 20.0), ("shared_request", 3.0, 0.0, 20.0),
          ("constant_word", 2.0, 0.0, 20.0), ("latency", 20.0, 0.0, 500.0),
          ("launch", 1e-5, 1e-7, 3e-5), ("power", 2.5, 1.0, 12.0)]
LIMITS = ["memory", "cache", "shared memory", "issue and FP32", "tensor cores", "latency"]

published = json.loads((root / "grader/measure/gpus.json").read_text())
GPUS = {gpu["name"]: gpu for gpu in published["gpus"]}


# ---- the model, as in grader/measure/estimate.cpp -----------------------------------------------

def resident_blocks(work, gpu, registers=0):
    held = published["capabilities"][gpu["capability"]]
    blocks = min(held["blocks"], held["threads"] // (32 * max(1, int(work["block_warps"]))))
    if work["shared_bytes"]:
        room = work["shared_bytes"] + held["reserved_kib"] * 1024
        blocks = min(blocks, int(held["shared_kib"] * 1024 // room))
    if registers:  # 65 536 of them; a warp gets 256 at a time
        blocks = min(blocks, 65536 // (math.ceil(registers * 32 / 256) * 256 *
                                       max(1, int(work["block_warps"]))))
    return blocks


def ceilings(work, precision, gpu, batch, c):
    blocks = resident_blocks(work, gpu)
    clock = gpu["clock_mhz"] * 1e6
    clocks = clock * gpu["multiprocessors"]
    warps = max(1, min(work["warps"] * batch,
                       gpu["multiprocessors"] * max(1, blocks) * work["block_warps"]))
    has_tf32 = precision.startswith("tf32") and "tf32_tensor_tflops" in gpu
    tensor = gpu["tf32_tensor_tflops" if has_tf32 else "fp16_tensor_tflops"] * 1e12
    instructions = (c["global_request"] * work["global_requests"] +
                    c["shared_request"] * work["shared_requests"] +
                    c["constant_word"] * work["constant_words"])
    waits = work["global_requests"] + work["barriers"]
    return [batch * c["memory"] * work["dram_bytes"] / (gpu["dram_gb_per_s"] * 1e9),
            batch * work["global_passes"] / clocks,
            batch * work["shared_passes"] / clocks,
            batch * (c["multiply"] * work["multiply_warps"] * 64 / (gpu["fp32_tflops"] * 1e12) +
                     instructions / (4 * clocks)),
            batch * c["tensor"] * work["tensor_multiply_adds"] * 2 / tensor,
            batch * c["latency"] * waits / (warps * clock)]


def seconds(stage, gpu, batch, c):
    total = c["launch"]
    for kernel in stage["kernels"]:
        each = ceilings(kernel, stage["precision"], gpu, batch, c)
        total += sum(x ** c["power"] for x in each) ** (1 / c["power"])
        total += c["launch"] * kernel["launches"]
    return total


# ---- data ----------------------------------------------------------------------------------------

def count(build):
    """What each stage asks for, both convolutions, by the emulated device."""
    stages = {}
    for stage in FAMILY:
        for layer in ("1", "2"):
            done = subprocess.run([root / build / "bin/grader", "profile",
                                   MILESTONE.get(stage, "m4"), "--stage", stage, "--solution",
                                   "reference", "--layer", layer, "--json"],
                                  check=True, stdout=subprocess.PIPE)
            found = json.loads(done.stdout)
            stages[f"{stage} {layer}"] = {
                "precision": found["precision"],
                "kernels": [kernel["work"] for kernel in found["kernels"]]}
    write_lines(here / "work.json", stages)


def write_lines(file, entries):
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
    file.write_text("{\n" + lines + "\n}\n")


def op_times(names):
    times = {}
    for name in names:
        for run in json.loads((results / name).read_text())["runs"]:
            for layer, found in enumerate(run["layers"], 1):
                key = f"{run['stage']['id']} {layer}"
                if key in work and run["network"] == "fa23":
                    times[key, run["batch"]] = statistics.median(found["op_ms"]) / 1e3
    return times


STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
UNITS = {"issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
         "fma": "sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed",
         "lsu": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
         "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
         "dram": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
         "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
         "warps": "sm__warps_active.avg.pct_of_peak_sustained_active"}


def collect_limits(gpu, folder):
    """Each kernel and grid once: time, executed instructions, units in percent, stall reasons."""
    stages = {}
    for file in sorted(pathlib.Path(folder).glob("*.csv")):
        with file.open() as lines:
            rows = list(csv.reader(line for line in lines if line.startswith('"')))
        kernels = {}
        for row in rows[2:]:  # the second holds the units
            cells = dict(zip(rows[0], row))

            def number(name):
                return float(cells[name].replace(",", ""))

            stalls = {}
            for name in cells:
                if name.startswith(STALL.split("{")[0]) and name.endswith(STALL.split("}")[1]):
                    stalls[name[len(STALL.split("{")[0]):-len(STALL.split("}")[1])]] = number(name)
            waiting = sum(stalls.values()) - stalls["selected"]
            kernels.setdefault(cells["Kernel Name"] + cells["Grid Size"], {
                "kernel": cells["Kernel Name"], "grid": cells["Grid Size"],
                "us": number("gpu__time_duration.sum") / 1e3,
                "instructions": number("smsp__inst_executed.sum"),
                "fp32_multiply_adds": number("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
                "registers": number("launch__registers_per_thread"),
                **{name: number(metric) for name, metric in UNITS.items()},
                "shared_of_lsu": round(
                    number("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum") /
                    max(1.0, number("l1tex__data_pipe_lsu_wavefronts.sum")), 2),
                "stalls": {name: round(100 * value / waiting) for name, value in stalls.items()
                           if name != "selected" and value >= 0.05 * waiting}})
        stages[file.stem] = list(kernels.values())[:12]
    write_lines(here / f"{gpu}.limits.json", stages)


# ---- fitting -------------------------------------------------------------------------------------

def loss(times, c):
    """Of the logarithm of predicted over measured: squared, but a large one counts linearly."""
    total = 0.0
    for (key, batch), time in times.items():
        off = abs(math.log(seconds(work[key], GPUS["H200"], batch, c) / time))
        total += off * off if off < 0.7 else 1.4 * off - 0.49
    return total / len(times)


def fit(times, start, rounds=40):
    c, best = dict(start), loss(times, start)
    steps = {name: 0.4 for name, *_ in FITTED}
    for _ in range(rounds):
        for name, _, least, most in FITTED:
            for sign in (1, -1):
                tried = {**c, name: min(max(c[name] * math.exp(sign * steps[name]), least), most)}
                found = loss(times, tried)
                if found < best - 1e-9:
                    c, best = tried, found
                    steps[name] *= 1.3
                    break
            else:
                steps[name] *= 0.5
        if max(steps.values()) < 0.02:
            break
    return c


def left_out(times, c, families):
    """Predicted over measured of the stages in `families`, fitted on all others."""
    inside = {at: time for at, time in times.items() if FAMILY[at[0].split()[0]] not in families}
    fitted = fit(inside, c, 15)
    return [seconds(work[key], GPUS["H200"], batch, fitted) / time
            for (key, batch), time in times.items() if FAMILY[key.split()[0]] in families]


def quantile(ratios, share):
    ordered = sorted(ratios)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def within(ratios, factor):
    return sum(1 / factor <= ratio <= factor for ratio in ratios) / len(ratios)


# ---- what limits, measured and predicted ---------------------------------------------------------

def measured_limit(kernel):
    """The busiest units, those within 20 %; latency if none reaches 60 %, as ncu itself says."""
    is_shared = kernel["shared_of_lsu"] >= 0.5
    units = {"memory": kernel["dram"], "issue and FP32": max(kernel["issue"], kernel["fma"]),
             "cache": max(kernel["l2"], 0 if is_shared else kernel["lsu"]),
             "shared memory": kernel["lsu"] if is_shared else 0, "tensor cores": kernel["tensor"]}
    most = max(units.values())
    if most < 60:
        return ["latency"]
    return sorted((name for name, value in units.items() if value >= 0.8 * most),
                  key=lambda name: -units[name])


def main_kernel(key, limits):
    """The kernel that multiplies: what it asks for, and what was measured of it."""
    stage, layer = key.split()
    asked = max(work[key]["kernels"],
                key=lambda k: 32 * k["multiply_warps"] + k["tensor_multiply_adds"])
    found = [k for k in limits.get(stage, []) if k["kernel"] == asked["kernel"]]
    # A kernel launched through a pointer has the pointer's name on the emulated device.
    found = found or [k for k in limits.get(stage, []) if k["us"] > 10]
    return (asked, found[0 if layer == "1" else -1]) if found else (asked, None)


def compare_limits(gpu, limits, c):
    rows = []
    for key, stage in work.items():
        asked, kernel = main_kernel(key, limits)
        if kernel is None:
            continue
        each = sorted(zip(ceilings(asked, stage["precision"], gpu, 1000, c), LIMITS), reverse=True)
        said = [name for value, name in each[:2] if value >= 0.8 * each[0][0]]
        rows.append((key, said, measured_limit(kernel), kernel))
    return rows


def with_registers(key, said, kernel):
    """The limits, if the registers of a thread are known. An arithmetic instruction gives its result
    after four clocks, so four warps keep a scheduler busy; with fewer it waits for them, too."""
    asked, _ = main_kernel(key, {key.split()[0]: [kernel]})
    blocks = resident_blocks(asked, GPUS["H100"], kernel["registers"])
    schedulers, clocks = 4, 4
    waits = said[0] == "issue and FP32" and blocks * asked["block_warps"] < schedulers * clocks
    return said + ["latency"] if waits else said


def write_table(mark, lines):
    page = root / "docs/profile.md"
    head, rest = page.read_text().split(f"<!-- {mark} -->\n")
    page.write_text(head + f"<!-- {mark} -->\n" + "\n".join(lines) + "\n\n" +
                    rest.split("\n\n", 1)[1])


words = argparse.ArgumentParser()
words.add_argument("--count")
words.add_argument("--limits", nargs=2)
arguments = words.parse_args()
if arguments.count:
    count(arguments.count)
if arguments.limits:
    collect_limits(*arguments.limits)

work = json.loads((here / "work.json").read_text())
h200 = op_times([f"nvidia-h200.m{milestone}.json" for milestone in (2, 3, 4)])
h100 = op_times(["nvidia-h100/m2.json", "nvidia-h100/m4.json"])
constants = {name: float(f"{value:.4g}") for name, value in
             fit(h200, {**MEASURED, **{name: start for name, start, *_ in FITTED}}).items()}

one = [ratio for family in FAMILIES for ratio in left_out(h200, constants, [family])]
half = []
random.seed(1)
for _ in range(8):
    half += left_out(h200, constants, random.sample(FAMILIES, len(FAMILIES) // 2))
other = [seconds(work[key], GPUS["H100"], batch, constants) / time
         for (key, batch), time in h100.items()]
fitted = [seconds(work[key], GPUS["H200"], batch, constants) / time
          for (key, batch), time in h200.items()]


def in_percent(share):
    return f"{100 * share:.0f} %"


table = ["| estimated over measured | op times | median | 10 % to 90 % | within 1.5 | within 2 |",
         "|---|---:|---:|---:|---:|---:|"]
for name, ratios in (("H200, fitted", fitted), ("H200, one family of stages left out", one),
                     ("H200, half of the families left out, eight times", half),
                     ("H100, fitted on the H200", other)):
    table.append(f"| {name} | {len(ratios)} | {statistics.median(ratios):.2f} | "
                 f"{quantile(ratios, 0.1):.2f} to {quantile(ratios, 0.9):.2f} | "
                 f"{in_percent(within(ratios, 1.5))} | {in_percent(within(ratios, 2))} |")
write_table("estimate", table)

low, high = 1 / quantile(one, 0.95), 1 / quantile(one, 0.05)
inside = sum(low <= 1 / ratio <= high for ratio in other) / len(other)
error = (f"The range holds 90 % of {len(one)} op times of the reference stages on the H200, if the "
         f"stage's family is left out of the fit, and {in_percent(inside)} of {len(other)} on the "
         "H100, where nothing was fitted.")
(root / "grader/measure/estimate.json").write_text(json.dumps(
    {"about": "Written by reference/results/calibration/fit_estimate.py; see docs/profile.md.",
     **constants, "low": round(low, 3), "high": round(high, 3), "error": error,
     "tested": ["H200", "H100"],
     # A test compares the model in C++ with this one.
     "examples": {key: [1e3 * seconds(work[key], GPUS[gpu], 1000, constants) for gpu in GPUS]
                  for key in ("tiled-shared 2", "im2col-gemm 1", "tensor-cores-tf32 2")}},
    indent=2) + "\n")

table = ["| stage, convolution | estimated limit | measured | issue | L1, shared | L2 | DRAM | "
         "warps | waits most for |", "|---|---|---|---:|---:|---:|---:|---:|---|"]
right = total = known = 0
for file in sorted(here.glob("*.limits.json")):
    name = "H100" if "h100" in file.name else "H200"
    rows = compare_limits(GPUS[name], json.loads(file.read_text()), constants)
    total += len(rows)
    right += sum(bool(set(said) & set(true)) for _, said, true, _ in rows)
    known += sum(bool(set(with_registers(key, said, kernel)) & set(true))
                 for key, said, true, kernel in rows)
    for key, said, true, kernel in rows:
        if set(said) & set(true):
            continue
        units = " | ".join(f"{kernel[unit]:.0f} %"
                           for unit in ("issue", "lsu", "l2", "dram", "warps"))
        waits = {n: v for n, v in kernel["stalls"].items() if n != "not_selected"}
        stall = max(waits, key=waits.get).replace("_", " ")
        table.append(f"| `{key.split()[0]}`, {key.split()[1]} | {', '.join(said)} | "
                     f"{', '.join(true)} | {units} | {stall} |")
write_table("right", [f"The estimated limit is a measured one for {right} of {total} kernels, and "
                      f"for {known} if the registers are known. The others:"])
write_table("limits", table)
