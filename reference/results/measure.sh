#!/usr/bin/env bash
# Builds, tests and times everything on a machine with a GPU and writes the result files that are
# kept in this folder:
#
#     reference/results/measure.sh OUTPUT_FOLDER [BUILD_FOLDER]
#
# Writes GPU.m1.json (on that machine's CPU) to GPU.m4.json (checked, with all samples),
# GPU.features.json (for common/emulation/tests/features/results) and a log of each step. Exits with
# 1 if a step failed.
set -uo pipefail
if (($# < 1 || $# > 2)); then
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit 2
fi
mkdir -p "$1" || exit 3
output=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3
build=${2:-build/measure}
jobs=$(nproc)
failures=()

gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1) || gpu=""
if [[ -z $gpu ]]; then
  echo "measure.sh: no NVIDIA GPU answers (nvidia-smi); run this on a machine that has one." >&2
  exit 3
fi
gpu=$(tr ' A-Z' '-a-z' <<<"$gpu")

# step NAME COMMAND…: its output goes to OUTPUT_FOLDER/NAME.log, the verdict to the screen.
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$output/$name.log" 2>&1; then
    echo "$name: fine ($((SECONDS - start)) s)"
  else
    echo "$name: FAILED ($((SECONDS - start)) s), see $output/$name.log"
    failures+=("$name")
  fi
}

sanitizer() {
  local tool=$1 milestone
  for milestone in m2 m3 m4; do
    "$build/bin/$milestone-reference" --list | while read -r stage _; do
      # A handful of images reach every kernel; the tools make them a hundred times slower.
      compute-sanitizer --tool "$tool" --error-exitcode 99 \
        "$build/bin/$milestone-reference" 3 --stage "$stage" --device gpu || exit 1
    done || return 1
  done
}

step configure cmake -S . -B "$build" -G Ninja -DCONVLAB_WERROR=ON -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CUDA_ARCHITECTURES=native
# The features are built for a GPU only when asked for.
step build cmake --build "$build" --parallel "$jobs" --target all emulation_features \
  emulation_features-emulated
step test ctest --test-dir "$build" --output-on-failure --parallel "$jobs"
step corpus "$build/bin/exploit-corpus" --runs gpu --jobs 1
tail -1 "$output/corpus.log"
step features "$build/bin/emulation_features" --json "$output/$gpu.features.json"
step compare "$build/bin/emulation_features-emulated" --compare "$output/$gpu.features.json"
tail -1 "$output/compare.log"
# The plain loops take a minute for 10 000 images, so m1 leaves one batch out.
step m1 "$build/bin/grader" check m1 --solution reference --batches 100,1000,10000 \
  --json "$output/$gpu.m1.json"
for milestone in m2 m3 m4; do
  step "$milestone" "$build/bin/grader" check "$milestone" --solution reference \
    --batches 100,1000,5000,10000 --json "$output/$gpu.$milestone.json"
done
for tool in memcheck racecheck initcheck synccheck; do
  step "$tool" sanitizer "$tool"
done

if ((${#failures[@]})); then
  echo "Failed: ${failures[*]}"
  exit 1
fi
