#!/usr/bin/env bash
# Compiles stages of milestone 4 for one GPU architecture after the other and prints what their
# kernels need, without a GPU:
#
#     reference/results/resources.sh [-a "75 90"] [STAGE…]
#     reference/results/resources.sh fp32_split tensor_cores_fp16
#
# Without -a for compute capability 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0; without STAGE all. Exits
# with 1 if a stage does not compile or a kernel spills registers.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3
architectures="75 80 86 89 90 100 120"
while getopts a:h option; do
  case $option in
    a) architectures=$OPTARG ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
done
shift $((OPTIND - 1))
stages=reference/solutions/m4_optimizations/stages
(($#)) || mapfile -t names < <(basename -s .cu "$stages"/*.cu)
(($#)) && names=("$@")
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin

fails=0
printf '%-26s %5s %8s %10s %10s  %s\n' stage sm kernels registers 'shared, B' 'spilled, B'
for name in "${names[@]}"; do
  for architecture in $architectures; do
    if ! output=$(nvcc -std=c++20 -O3 --expt-relaxed-constexpr -I. -arch="sm_$architecture" -Xptxas -v -c -o /dev/null \
      "$stages/$name.cu" 2>&1); then
      printf '%-26s %5s does not compile: %s\n' "$name" "$architecture" "$(grep -m1 error <<<"$output")"
      fails=1
      continue
    fi
    # ptxas tells of each kernel: spill stores, spill loads; then registers and shared memory.
    awk -v stage="$name" -v sm="$architecture" '
      / bytes spill stores/ { for (i = 1; i < NF; ++i) if ($(i + 2) == "spill") spilled += $i }
      /Used [0-9]+ registers/ {
        ++kernels
        for (i = 1; i < NF; ++i) {
          if ($(i + 1) ~ /^registers/ && $i > most) most = $i
          if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/ && $i > shared) shared = $i
        }
      }
      END {
        printf "%-26s %5s %8d %10d %10d  %d\n", stage, sm, kernels, most, shared, spilled
        exit spilled > 0
      }' <<<"$output" || fails=1
  done
done
exit $fails
