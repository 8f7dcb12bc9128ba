#!/usr/bin/env bash
# Collects on a GPU what docs/profile.md compares the emulated counters with:
#
#     reference/results/calibration/on_gpu.sh OUTPUT_FOLDER STEP...
#
# Steps: build, racecheck (the seeded races, all reference stages), counters (Nsight Compute, one
# image), limits (what limits each kernel with 1000 images), opcodes (executed instructions by kind,
# one image). The last two need the programs of `programs` or, built elsewhere, in the folder
# BINARIES. Writes a file for each stage.
set -uo pipefail
if (($# < 2)); then
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit 2
fi
mkdir -p "$1" || exit 3
output=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 3
build=build/calibration
binaries=${BINARIES:-$build/bin}
here=reference/results/calibration
export CONVLAB_HOME=$PWD

programs() {
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=native \
    -DCONVLAB_TESTS=OFF -DCONVLAB_BENCHMARKS=OFF &&
    cmake --build "$build" --target m2-reference m3-reference m4-reference
} >"$output/programs.log" 2>&1

build() {
  programs && cmake --build "$build" --target m4 convlab_custom_submission_parts &&
    nvcc -std=c++20 -O2 -arch=native -I . -o "$build/racecheck_pairs" "$here/benchmarks/racecheck_pairs.cu" \
      common/emulation/trace/tests/race_pairs_*.cu
} >"$output/build.log" 2>&1

# stages: one line each, "program stage".
stages() {
  local milestone
  for milestone in m2 m3 m4; do
    "$binaries/$milestone-reference" --list | grep -v "left out" | while read -r stage _; do
      echo "$milestone-reference $stage"
    done
  done
}

racecheck() {
  mkdir -p "$output/racecheck"
  export output build
  # shellcheck disable=SC2317  # xargs runs it
  check() { timeout 100 compute-sanitizer --tool racecheck --racecheck-report all "${@:2}" \
    >"$output/racecheck/$1.log" 2>&1; }
  export -f check
  {
    "$build/racecheck_pairs" | while read -r name; do
      echo "check pair.$name.wrong $build/racecheck_pairs $name 0"
      echo "check pair.$name.right $build/racecheck_pairs $name 1"
    done
    stages | while read -r program stage; do
      echo "check $program.$stage $binaries/$program 2 --stage $stage --device gpu --repeats 1"
    done
  } | xargs -P "$(nproc)" -I{} bash -c {}
}

# Of these metrics those that this GPU has.
known() {
  sort -u <(tr -s ' \n' '\n' <<<"$1") | comm -12 - <(ncu --query-metrics 2>/dev/null |
    awk '{print $1}' | sort -u)
}

suffixed() {
  known "$2" | sed "s/\$/.$1/" | paste -sd,
}

# Without those that measure the GPU itself.
kernels='regex:^(?!do_nothing|multiply_add|read_all|copy_tiles)'

profile() {
  local folder=$1 batch=$2
  shift 2
  mkdir -p "$output/$folder"
  stages | while read -r program stage; do
    timeout 60 ncu --csv --page raw --print-kernel-base function --clock-control none \
      --launch-count 60 -k "$kernels" "$@" "$binaries/$program" "$batch" --stage "$stage" --device gpu \
      --repeats 1 >"$output/$folder/$stage.csv" 2>"$output/$folder/$stage.log" </dev/null
  done
}

counters() {
  local sums="l1tex__t_requests_pipe_lsu_mem_global_op_ld l1tex__t_sectors_pipe_lsu_mem_global_op_ld
 l1tex__t_requests_pipe_lsu_mem_global_op_st l1tex__t_sectors_pipe_lsu_mem_global_op_st
 l1tex__t_requests_pipe_lsu_mem_global_op_red l1tex__t_sectors_pipe_lsu_mem_global_op_red
 l1tex__t_requests_pipe_lsu_mem_global_op_atom l1tex__t_sectors_pipe_lsu_mem_global_op_atom
 l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st
 l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom l1tex__data_pipe_lsu_wavefronts_mem_shared
 l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld
 l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st
 smsp__inst_executed_op_shared_ld smsp__inst_executed_op_shared_st smsp__inst_executed_op_ldsm
 smsp__inst_executed_op_ldgsts smsp__inst_executed_op_global_ld smsp__inst_executed_op_global_st
 smsp__sass_inst_executed_op_shared_ld smsp__sass_inst_executed_op_shared_st
 smsp__sass_inst_executed_op_ldsm smsp__sass_inst_executed_op_ldgsts_cache_access
 smsp__sass_inst_executed_op_ldgsts_cache_bypass smsp__inst_executed smsp__thread_inst_executed
 smsp__sass_thread_inst_executed_op_ffma_pred_on smsp__sass_thread_inst_executed_op_hfma_pred_on
 smsp__sass_thread_inst_executed_op_fadd_pred_on smsp__sass_thread_inst_executed_op_fmul_pred_on
 smsp__inst_executed_pipe_lsu smsp__inst_executed_pipe_alu smsp__inst_executed_pipe_fma
 smsp__inst_executed_pipe_fp16 smsp__inst_executed_pipe_uniform smsp__inst_executed_op_shared_atom
 smsp__sass_thread_inst_executed_op_hadd_pred_on smsp__sass_thread_inst_executed_op_hmul_pred_on
 sm__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on sm__inst_executed_pipe_tensor
 sm__inst_executed_pipe_tensor_op_hmma
 smsp__inst_executed_pipe_tensor smsp__inst_executed_op_branch idc__requests
 sm__sass_thread_inst_executed_ops_hadd_hmul_hfma_pred_on gpu__time_duration"
  local metrics
  metrics=$(suffixed sum "$sums")
  profile counters 1 --metrics "$metrics"
  # Built first: Nsight Compute does not get through a compiler that the program starts.
  local stage run="1 --device gpu --repeats 1"
  # shellcheck disable=SC2086
  "$build/bin/m4" $run --solution "$here/benchmarks/micro_kernels.cu" --stage micro-global >/dev/null
  for stage in micro-global micro-shared micro-other; do
    # shellcheck disable=SC2086
    timeout 60 ncu --csv --page raw --print-kernel-base function --clock-control none \
      -k "$kernels" --metrics "$metrics" "$build"/sources/micro_kernels-*/program $run \
      --stage "$stage" >"$output/counters/$stage.csv" 2>"$output/counters/$stage.log" </dev/null
  done
}

# Each kernel twice: the program warms up. On an H100 eight seconds for a stage.
limits() {
  local sums="gpu__time_duration dram__bytes_read dram__bytes_write lts__t_sectors
 l1tex__data_pipe_lsu_wavefronts l1tex__data_pipe_lsu_wavefronts_mem_shared idc__requests
 smsp__inst_executed smsp__inst_issued sm__inst_executed_pipe_alu sm__inst_executed_pipe_fma
 sm__inst_executed_pipe_fmaheavy sm__inst_executed_pipe_fp16 sm__inst_executed_pipe_lsu
 sm__inst_executed_pipe_tensor sm__inst_executed_pipe_tensor_op_hmma
 sm__inst_executed_pipe_tensor_op_gmma sm__inst_executed_pipe_uniform sm__inst_executed_pipe_xu
 sm__inst_executed_pipe_adu sm__inst_executed_pipe_cbu smsp__sass_thread_inst_executed_op_ffma_pred_on
 smsp__sass_thread_inst_executed_op_hfma_pred_on smsp__sass_thread_inst_executed_op_fadd_pred_on
 smsp__sass_thread_inst_executed_op_fmul_pred_on"
  profile limits 1000 --metrics "$(suffixed sum "$sums")" --section SpeedOfLight \
    --section WarpStateStats --section Occupancy --section LaunchStats --section SchedulerStats \
    --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis
}

opcodes() {
  profile opcodes 1 --print-metric-instances values --metrics sass__inst_executed_per_opcode
}

for step in "$@"; do
  start=$SECONDS
  if "$step"; then echo "$step: $((SECONDS - start)) s"; else
    echo "$step: FAILED ($((SECONDS - start)) s)"
    tail -5 "$output/$step.log" 2>/dev/null
    exit 1
  fi
done
